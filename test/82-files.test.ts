// One entry for a file, whatever it was called; and what a command line writes.
import { describe, expect, it } from 'vitest'
import { pathIn, placeIn, withPlaces } from '../src/digest/places.ts'
import { cited } from '../src/digest/seqs.ts'
import { writesIn } from '../src/digest/writes.ts'
import { Script } from './setup/digest-events.ts'

describe('a file', () => {
  it.each([
    // Called from below the top of the repository.
    ['/w/yard/north', '/w/yard/north/gate.ts', 'north/gate.ts'],
    ['/w/yard/north', 'gate.ts', 'north/gate.ts'],
    ['/w/yard/north', '../south/gate.ts', 'south/gate.ts'],
    ['/w/yard/north', '/w/yard/south/gate.ts', 'south/gate.ts'],
    ['/w/yard/north', '/w/other/gate.ts', '/w/other/gate.ts'],
    ['g:\\w\\yard\\north', '..\\south\\gate.ts', 'south/gate.ts'],
    ['/yard/w/yard/north', 'gate.ts', 'north/gate.ts'],
  ])('of the repository: from %s, %s is %s', (cwd, path, name) =>
    expect(pathIn(placeIn(cwd, 'yard'), path)).toBe(name),
  )

  it.each<[string | null, string, string]>([
    ['/w/yard', '/w/yard/src/gate.ts', 'src/gate.ts'],
    ['/w/yard', './src/gate.ts', 'src/gate.ts'],
    ['/w/yard/', '/w/yard/src/../gate.ts', 'gate.ts'],
    ['/w/yard', '../other/gate.ts', '/w/other/gate.ts'],
    ['/w/yard', '/w/yardstick/gate.ts', '/w/yardstick/gate.ts'],
    ['g:\\w\\yard', 'G:/w/Yard/src/gate.ts', 'src/gate.ts'],
    ['g:\\w\\yard', 'src\\gate.ts', 'src/gate.ts'],
    ['g:\\w\\yard', '/mnt/g/w/yard/src/gate.ts', 'src/gate.ts'],
    ['g:\\w\\yard', 'C:\\Users\\smith\\gate.ts', 'C:/Users/smith/gate.ts'],
    ['/w/yard', 'odd\\name', 'odd\\name'],
    [null, '/w/gate.ts', '/w/gate.ts'],
  ])('from %s, %s is %s', (cwd, path, name) => expect(pathIn(placeIn(cwd, null), path)).toBe(name))

  it('has one entry with all its edits', () => {
    const script = new Script()
      .prompt('go')
      .edit('/w/gate.ts')
      .edit('gate.ts')
      .run("sed -i 's/a/b/' ./gate.ts", 0)
    const { work } = withPlaces(script.facts(), placeIn('/w', null))
    const files = [...work.files.values()].map(({ path, edits, touches, seqs }) => [
      path,
      edits.count,
      touches,
      cited(seqs),
    ])
    expect(files).toEqual([['gate.ts', 3, 3, [2, 4, 6]]])
    expect(work.editCount).toBe(3)
  })
})

describe('a command writes', () => {
  it.each<[string, string[]]>([
    ["cat > src/gate.ts <<'EOF'\nopen > shut\nEOF", ['src/gate.ts']],
    ['cat <<EOF >> notes.md\nx\nEOF', ['notes.md']],
    // Within what PowerShell is told to run, and in a text that it gives to an interpreter.
    ['powershell -Command "Set-Content -Path src/gate.ts -Value @\'\nopen\n\'@"', ['src/gate.ts']],
    ["@'\np = 'src/gate.py'\nopen(p, 'w').write('x')\n'@ | python -", ['src/gate.py']],
    ["@'\nPath('a.md').write_text('x')\n'@ | Out-Null", []],
    ['*** Begin Patch\n*** Update File: src/gate.rs\n-a\n+b\n*** End Patch', ['src/gate.rs']],
    ["tee -a 'a b.txt' <<X\nx\nX", ['a b.txt']],
    ['echo "a > b" > gate.txt && echo done', ['gate.txt']],
    ["printf '%s' x >> log/gate.txt", ['log/gate.txt']],
    ["sed -i 's/a/b/' src/gate.ts src/yard.ts", ['src/gate.ts', 'src/yard.ts']],
    ["sed -i '' -e 's/a/b/' src/gate.ts", ['src/gate.ts']],
    ["perl -pi -e 's/a/b/' gate.ts", ['gate.ts']],
    ["@'\n# Gate\n'@ | Set-Content -Path .work\\GATE.md", ['.work\\GATE.md']],
    [
      "$path = 'docs/gate.md'; $lines = Get-Content $path; Set-Content -Path $path -Value $lines",
      ['docs/gate.md'],
    ],
    ['"x" | Out-File gate.txt -Encoding utf8', ['gate.txt']],
    ["[System.IO.File]::WriteAllText('gate.txt', $t)", ['gate.txt']],
    ["$f='gate.txt'; [System.IO.File]::AppendAllText((Resolve-Path $f), 'x')", ['gate.txt']],
    [
      "python - <<'PY'\nfrom pathlib import Path\np = Path('gate.py')\np.write_text('x')\nopen('b.txt', 'w')\nPY",
      ['b.txt', 'gate.py'],
    ],
  ])('%j', (command, files) => expect(writesIn(command).sort()).toEqual([...files].sort()))

  it.each([
    'npm test > out.log 2>&1',
    'grep -rn ">" src | head',
    'echo hello',
    'echo x > /dev/null',
    'echo x > /tmp/gate.txt',
    'echo x > "$OUT"',
    "sed -n '1,5p' gate.ts",
    'cat <<EOF\nfiles > here.txt\nEOF',
    "python - <<'PY'\nprint(open('gate.py').read())\nPY",
    'git commit -m "echo x > gate.ts"',
  ])('nothing: %j', (command) => expect(writesIn(command)).toEqual([]))
})
