// Runs the scheduling cycle of kube-scheduler for the pending pods of a list, one after the other, and prints its
// figures as a line of JSON. Usage: kube_scheduler LIST PERCENTAGE, where LIST is a file with {"items": [...]} of
// nodes, pods and services, and PERCENTAGE is percentageOfNodesToScore.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(file, percentage string) error {
	toScore, err := strconv.ParseInt(percentage, 10, 32)
	if err != nil {
		return err
	}
	nodes, pods, others, err := read(file)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewSimpleClientset(others...)
	informers := scheduler.NewInformerFactory(client, 0)
	recorder := func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }
	share := int32(toScore)
	sched, err := scheduler.New(ctx, client, informers, nil, recorder, scheduler.WithPercentageOfNodesToScore(&share))
	if err != nil {
		return err
	}
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	for _, node := range nodes {
		sched.Cache.AddNode(klog.FromContext(ctx), node)
	}
	// DefaultPreemption reads the pod from the lister.
	store := informers.Core().V1().Pods().Informer().GetStore()
	for _, pod := range pods {
		if err := store.Add(pod); err != nil {
			return err
		}
	}
	scheduled := 0
	clock, before := time.Now(), usage()
	for _, pod := range pods {
		succeeded, err := sched.RunSchedulingCycle(ctx, pod)
		if err != nil {
			return err
		}
		if succeeded {
			scheduled++
		}
	}
	after, elapsed := usage(), time.Since(clock).Seconds()
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"scheduled": scheduled,
		"seconds":   processor(after) - processor(before),
		"clock_s":   elapsed,
		"peak_mb":   after.Maxrss / 1024,
	})
}

func read(file string) (nodes []*v1.Node, pods []*v1.Pod, others []runtime.Object, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, nil, err
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, nil, nil, err
	}
	namespaces := map[string]bool{}
	for _, item := range list.Items {
		var meta metav1.TypeMeta
		if err := json.Unmarshal(item, &meta); err != nil {
			return nil, nil, nil, err
		}
		switch meta.Kind {
		case "Node":
			node := &v1.Node{}
			err, nodes = json.Unmarshal(item, node), append(nodes, node)
		case "Pod":
			pod := &v1.Pod{Spec: v1.PodSpec{SchedulerName: v1.DefaultSchedulerName}}
			err, pods = json.Unmarshal(item, pod), append(pods, pod)
			if namespaces[pod.Namespace] = true; pod.UID == "" { // which the cache needs
				pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
			}
		case "Service":
			service := &v1.Service{}
			err, others = json.Unmarshal(item, service), append(others, service)
		default:
			err = fmt.Errorf("%s: kind %q is not supported", file, meta.Kind)
		}
		if err != nil {
			return nil, nil, nil, err
		}
	}
	for name := range namespaces {
		labels := map[string]string{v1.LabelMetadataName: name}
		others = append(others, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	return nodes, pods, others, nil
}

// usage returns what the process has used until now.
func usage() (used syscall.Rusage) {
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return used
}

func processor(used syscall.Rusage) float64 {
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}
