"""Budgets are never exceeded."""

import threading

import pytest

from proem_engine import Booking, Budget, BudgetExceeded, InvalidError, NegativeError


def test_a_call_that_could_exceed_the_budget_is_refused_before_it_is_made() -> None:
    budget = Budget(tokens=10_000, dollars=1.0)
    booking = budget.book("a prompt", model="gpt-4o", output_tokens=500)
    with pytest.raises(BudgetExceeded, match="tokens"):
        budget.book("a prompt " * 2_000, model="gpt-4o", output_tokens=500)
    booking.settle(12, 40)
    assert budget.spent_tokens == 52
    assert budget.spent_dollars is not None and 0 < budget.spent_dollars < 0.01
    with pytest.raises(InvalidError, match="closed"):
        booking.settle(12, 40)
    budget.book("a prompt", model="gpt-4o", output_tokens=1).release()
    assert budget.spent_tokens == 52
    assert issubclass(BudgetExceeded, NegativeError)


@pytest.mark.parametrize("usage", [(), (None, 7), (12,), (0, 0)])
def test_a_call_of_unknown_usage_takes_what_was_booked(usage: tuple[int, ...]) -> None:
    budget = Budget(tokens=10_000)
    budget.book("a prompt", model="gpt-4o", output_tokens=500).settle(*usage)
    assert budget.spent_tokens is not None and budget.spent_tokens > 500


def test_a_call_that_fails_amidst_takes_what_was_booked() -> None:
    budget = Budget(tokens=10_000)
    with pytest.raises(KeyError), budget.book("a prompt", model="gpt-4o", output_tokens=500):
        raise KeyError("the connection broke")
    assert budget.spent_tokens is not None and budget.spent_tokens > 500
    with budget.book("a prompt", model="gpt-4o", output_tokens=500) as booking:
        before = budget.spent_tokens
        booking.settle(12, 40)
    assert budget.spent_tokens == before + 52


def test_a_booking_is_for_one_call() -> None:
    budget = Budget(tokens=10_000)
    booking = budget.book("a prompt", model="gpt-4o", output_tokens=500)
    with booking:
        with pytest.raises(InvalidError, match="book each call once"):
            booking.__enter__()
    with pytest.raises(InvalidError, match="book each call once"):
        booking.__enter__()


def test_an_unknown_price_is_never_zero() -> None:
    with pytest.raises(BudgetExceeded, match="price"):
        Budget(dollars=1.0).book("a prompt", model="a model that nobody lists", output_tokens=10)
    budget = Budget(dollars=1.0, tokens=10_000)
    budget.book("a prompt", model="a model that nobody lists", output_tokens=10).settle(5, 5)
    assert (budget.spent_tokens, budget.spent_dollars, budget.unpriced_calls) == (10, 0.0, 1)


def test_cached_tokens_cost_less() -> None:
    def dollars(cached: int) -> float:
        budget = Budget(dollars=1.0)
        booking = budget.book("a prompt", model="gpt-4o", output_tokens=10, input_tokens=5_000)
        booking.settle(4_000, 10, cache_read_tokens=cached)
        assert budget.spent_dollars is not None
        return budget.spent_dollars

    assert dollars(4_000) < dollars(0)
    with pytest.raises(InvalidError, match="more tokens are cached"):
        dollars(4_001)


def test_a_picture_is_not_counted_by_its_address() -> None:
    budget = Budget(tokens=10_000)
    messages = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}]
    with pytest.raises(InvalidError, match="`image_url` are not in its bytes"):
        budget.book(messages, model="gpt-4o", output_tokens=10)
    assert isinstance(budget.book(messages, model="gpt-4o", output_tokens=10, input_tokens=2_000), Booking)


@pytest.mark.parametrize(
    "caps", [{}, {"tokens": -1}, {"tokens": 2**64}, {"tokens": 1.5}, {"dollars": -0.1}, {"dollars": float("nan")}]
)
def test_a_wrong_cap_is_refused(caps: dict[str, float]) -> None:
    with pytest.raises(InvalidError):
        Budget(**caps)  # type: ignore[arg-type]


def test_sixteen_threads_never_exceed_a_budget() -> None:
    budget, refused = Budget(tokens=50_000), []

    def call() -> None:
        for _ in range(50):
            try:
                budget.book("text", model="gpt-4o", output_tokens=100).settle(10, 100)
            except BudgetExceeded:
                refused.append(1)

    threads = [threading.Thread(target=call) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.spent_tokens is not None and budget.spent_tokens <= 50_000 and refused
