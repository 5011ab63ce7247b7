"""An agent in Python that records its turns through `recollect record`.

Usage: pipe.py DIRECTORY [COMMAND...]    COMMAND defaults to `recollect`
"""
# readme
import json, subprocess, sys, time

base, *command = sys.argv[1:]
recorder = subprocess.Popen(
    [*(command or ["recollect"]), "record", "turns", "--base", base, "--agent", "main", "--session", "s1"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", bufsize=1,
)

def record(turn):
    """Returns when the turn is on disk."""
    recorder.stdin.write(json.dumps({"ts": time.time() * 1000, **turn}) + "\n")
    answer = json.loads(recorder.stdout.readline())
    if not answer["ok"]:
        raise ValueError(answer["error"]["message"])
    return answer["turnId"]

print("recorded turn", record({"turnId": "1", "role": "user", "content": "What is in notes.txt?"}))
print("recorded turn", record({"turnId": "2", "role": "assistant", "content": "Milk and bread."}))
# end readme
try:
    record({"turnId": "3", "role": "narrator"})
except ValueError as refusal:
    print("refused:", str(refusal).splitlines()[0])
recorder.stdin.close()
sys.exit(0 if recorder.wait() == 4 else 1)  # 4: some lines were refused
