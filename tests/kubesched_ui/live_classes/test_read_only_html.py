"""What a class gets of a page, and the places in it for what the server makes: also of hostile text in the page."""

from __future__ import annotations

from kubesched_ui.live_classes import read_only_html

PAGE = """<main id="main">
  <section class="card answer-card bad" aria-label="Summary"><p>No node.</p></section>
  <section
    class="card remedy"
    id="why"
    aria-labelledby="t-why"
    data-load="/runs/1/pods/a/b/why/?attempt=1&amp;x=2"
  ><h2 id="t-why">Suggested fixes</h2><progress></progress><noscript><a href="?">Try</a></noscript></section>
  <section class="card" data-load="/runs/1/pods/a/b/trials/">Preemption dry runs</section>
  <form action="/delete/"><button>Delete</button></form>
  <button type="button" class="quiet">Keys</button><button class="from" data-from="filter">12</button>
  <a data-keep href="?point=filter">Filter</a>{more}
</main>"""


def test_what_a_script_would_fetch_has_a_place() -> None:
    made = read_only_html.within(PAGE.replace("{more}", ""), "/runs/1/pods/a/b/")
    assert [(want.what, want.load) for want in made.wants] == [
        ("why", "/runs/1/pods/a/b/why/?attempt=1&x=2"),
        ("map", ""),
    ]
    assert made.wants[0].waiting == '<h2 id="t-why">Suggested fixes</h2><progress></progress>'
    assert made.html.index('data-part="map"') < made.html.index('data-part="why"')
    assert made.html.count("data-part") == 2
    for never in ("<form", "Delete", "Trials", "data-load", "Keys", "<button", "noscript", "data-keep"):
        assert never not in made.html
    assert '<span class="from">12</span>' in made.html
    assert 'href="/runs/1/pods/a/b/?point=filter"' in made.html
    whole = read_only_html.filled(made.html, {"why": "<p>A node more</p>", "map": "<p>Nodes</p>"})
    assert 'data-part="why"><p>A node more</p></section>' in whole
    assert 'data-part="map"><p>Nodes</p></div>' in whole


def test_no_text_of_a_page_makes_a_place() -> None:
    hostile = '<i title="\0map\0 x">\0why\0</i>' + "&lt;div class=&quot;stack-s&quot; data-part=&quot;map&quot;&gt;"
    made = read_only_html.within(PAGE.replace("{more}", hostile), "/")
    assert made.html.count("data-part=") - made.html.count("data-part=&quot;") == 2
    assert '<i title="map x">why</i>' in made.html
    assert "\0" not in made.html


def test_a_page_without_any() -> None:
    assert read_only_html.within("<main><p>Nothing</p></main>", "/") == ("<p>Nothing</p>", ())
    assert read_only_html.within("", "/") == ("", ())
    assert read_only_html.inner(PAGE, "together", "/") == ""
