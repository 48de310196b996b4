"""Template tags of ui.py that no page shows with difficult values."""

from kubesched_ui.templatetags.ui import options


def test_options_of_a_select_are_escaped() -> None:
    choices = [("", "as <found>"), ("<g>", [('a"', "<b>"), ("1", "one")])]
    first = '<option value="">as &lt;found&gt;</option>'
    one = '<option value="1">one</option></optgroup>'
    group = '<optgroup label="&lt;g&gt;"><option value="a&quot;"{}>&lt;b&gt;</option>'
    assert options(choices, 'a"') == first + group.format(" selected") + one
    assert options(choices, 1) == first + group.format("") + one.replace('"1"', '"1" selected')
