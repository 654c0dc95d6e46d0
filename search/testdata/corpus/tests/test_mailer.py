from worker.src.mailer import render_receipt


def test_receipt_ends_with_the_total():
    order = {"id": 1, "items": [{"name": "tea", "price": 4}], "total": 4}
    assert render_receipt(order).endswith("total: 4")
