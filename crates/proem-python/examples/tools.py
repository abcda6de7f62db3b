"""Which tools does a task need?

deploy
['translate']
"""

from proem_engine import Toolbox, select

TOOLS = [
    {"name": "deploy", "description": "Release a build to the servers"},
    {"name": "translate", "description": "Translate a text into another language"},
]
print(Toolbox(TOOLS).rank("put the new version into production")[0].name)
print(select("translate this letter into French", TOOLS))
