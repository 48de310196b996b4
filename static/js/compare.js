// Shows the progress of active runs, then reloads the page to show the comparison.
const numbers = document.getElementById("waiting").dataset.runs.trim().split(/\s+/);

async function look() {
  let waiting = false;
  for (const number of numbers) {
    const response = await fetch(`/api/runs/${number}`);
    if (!response.ok) return location.reload(); // the run was deleted
    const run = await response.json();
    if (run.state === "queued" || run.state === "running") waiting = true;
    const bar = document.getElementById(`progress-${number}`);
    bar.max = (run.in_time ? run.until : run.cycles_total) || 1;
    bar.value = run.in_time ? run.clock : run.cycles_done;
  }
  if (waiting) setTimeout(look, 300);
  else location.reload();
}

setTimeout(look, 300);
