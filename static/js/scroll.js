// Wide tables: fades the edges where there is more content (data-beyond), and makes them scrollable by keyboard.
function tell(box) {
  const over = box.scrollWidth - box.clientWidth;
  const more = [];
  if (box.scrollLeft > 1) more.push("left");
  if (over - box.scrollLeft > 1) more.push("right");
  box.dataset.beyond = more.join(" ");
  if (over > 1 && !box.hasAttribute("tabindex")) {
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Scrolls sideways");
  }
}

const sized = new ResizeObserver((entries) => {
  for (const box of new Set(entries.map(({ target }) => target.closest(".scroll")))) if (box) tell(box);
});

function watch(root) {
  for (const box of root.querySelectorAll(".scroll")) {
    sized.observe(box);
    for (const child of box.children) sized.observe(child);
  }
}

// Centres the current item of a list that scrolls sideways.
export function centre(item) {
  const strip = item?.closest("ol");
  if (strip) strip.scrollLeft = item.offsetLeft - strip.offsetLeft - (strip.clientWidth - item.offsetWidth) / 2;
}

// Marks every scrollable box, including those added later.
export function tellOfScrolling() {
  watch(document);
  document.addEventListener("scroll", ({ target }) => target.matches?.(".scroll") && tell(target), true);
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes)
      for (const node of addedNodes)
        if (node.parentElement && node.querySelector?.(".scroll, table")) watch(node.parentElement);
  }).observe(document.getElementById("main"), { childList: true, subtree: true });
}
