"""How do I read a model's answer as a dataclass, and learn what was wrong with it?

Product(name='kettle', faulty=True)
line 1: text around the value was removed
refused: /faulty: expected true or false (type)
"""

from dataclasses import dataclass

from proem_engine import NegativeError, decode


@dataclass
class Product:
    name: str
    faulty: bool


decoded = decode('The value is {"name": "kettle", "faulty": true}', Product)
print(decoded.value)
print("\n".join(decoded.repairs))
try:
    decode('{"name": "kettle", "faulty": "perhaps"}', Product)
except NegativeError as error:
    print(f"refused: {error.problems[0]}")
