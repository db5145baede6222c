"""Writing HTML from values."""

from interlock.lab.report.markup import Markup, document, element, style_sheet, together


def test_a_string_inside_an_element_is_text() -> None:
    assert element("p", "<b> & \u202e") == "<p>&lt;b&gt; &amp; &lt;U+202E&gt;</p>"


def test_an_element_inside_an_element_is_an_element() -> None:
    assert element("p", element("b", "x"), None, " y") == "<p><b>x</b> y</p>"


def test_an_attribute_cannot_be_left() -> None:
    assert element("p", class_='a" onclick="b') == '<p class="a&quot; onclick=&quot;b"></p>'


def test_elements_that_hold_nothing_are_closed() -> None:
    assert element("rect", x=1) == '<rect x="1"/>'
    assert element("meta", charset="utf-8") == '<meta charset="utf-8">'


def test_pieces_are_put_together_as_they_are_meant() -> None:
    assert together(element("b"), "<i>", None) == "<b></b>&lt;i&gt;"


def test_rules_for_the_looks_are_taken_as_they_are() -> None:
    assert style_sheet("a > b { }") == "<style>a > b { }</style>"


def test_a_document_has_a_head_and_a_body() -> None:
    assert "<head>h</head>\n<body>b</body>" in document(Markup("h"), Markup("b"))
