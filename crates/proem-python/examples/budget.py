"""How do I cap what the calls of my agent take?

1 call, 52 tokens
refused
"""

from proem_engine import Budget, BudgetExceeded

budget = Budget(tokens=3_000)
with budget.book("Which part leaks?", model="gpt-4o", output_tokens=100) as booking:
    # Your client's call stands here. Its response reports the usage.
    booking.settle(input_tokens=12, output_tokens=40)
print(f"1 call, {budget.spent_tokens} tokens")
try:
    budget.book("Which part leaks? " * 200, model="gpt-4o", output_tokens=100)
except BudgetExceeded:
    print("refused")
