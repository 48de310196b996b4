// Added to package scheduler by benchmarks/upstream.py, because schedulingCycle is not exported.

package scheduler

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// RunSchedulingCycle runs schedulingCycle for a pod and returns whether it succeeded.
func (sched *Scheduler) RunSchedulingCycle(ctx context.Context, pod *v1.Pod) (bool, error) {
	podInfo, err := framework.NewPodInfo(pod)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	state := framework.NewCycleState()
	toActivate := framework.NewPodsToActivate()
	state.Write(framework.PodsToActivateKey, toActivate)
	queued := &framework.QueuedPodInfo{PodInfo: podInfo}
	profile := sched.Profiles[pod.Spec.SchedulerName]
	_, _, status := sched.schedulingCycle(ctx, state, profile, queued, time.Now(), toActivate)
	return status.IsSuccess(), nil
}
