// What a client is made to do, once for all of them. A story gets a world (scenarios.mjs): `say` runs the client with a prompt and
// the answers that the model gives to it. Paths are those of the world's project.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const LONG = `node -e "for(let i=0;i<20000;i++)console.log('line '+i+' of many')"`
const CALC = 'const add = (a, b) => a - b\n'
/** 8 by 8, red. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElFTkSuQmCC'

export const STORIES = {
  /** Prompts, parallel calls, failures, edits that fail and that do not, long outputs, other scripts; a path with a space and Han. */
  async several({ say, dialect, project, last }) {
    writeFileSync(join(project, 'calc.js'), CALC)
    const calc = join(project, 'calc.js')
    await say('Look around 看看 "quoted" $HOME.', [
      {
        thinking: 'I look first.',
        text: 'Two at once.',
        calls: [dialect.shell('ls -1'), dialect.shell('echo out; exit 3')],
      },
      { calls: [dialect.read(join(project, 'missing.txt'))] },
      { text: 'One failed with 3.' },
    ])
    if (!dialect.resume) return
    await say(
      'Now mend calc.js.',
      [
        { calls: [dialect.edit(calc, 'nothing of the kind', 'x')] },
        { text: 'Not there; once more.', calls: [dialect.read(calc)] },
        { calls: [dialect.edit(calc, CALC.trim(), CALC.trim().replace('-', '+'))] },
        { text: 'Mended — 修好了 ✓' },
      ],
      { resume: last() },
    )
    await say(
      'Print much.',
      [
        { calls: [dialect.shell(LONG)] },
        { calls: [dialect.write(join(project, 'new 文件.txt'), 'hello')] },
        { text: 'Much was printed.\n\nIn two paragraphs.' },
      ],
      { resume: last() },
    )
  },
  async worktree({ say, dialect }) {
    await say('Where is this?', [
      { calls: [dialect.shell('git rev-parse --show-toplevel')] },
      { text: 'In a worktree.' },
    ])
  },
  async interruptedTool({ say, dialect, last }) {
    await say(
      'Run something slow.',
      [
        { text: 'Quick first.', calls: [dialect.shell('echo quick')] },
        { text: 'Now slow.', calls: [dialect.shell('touch STARTED; sleep 20; echo never')] },
        { text: 'It was stopped.' },
      ],
      { signal: 'SIGINT', when: 'tool' },
    )
    if (dialect.resume && last())
      await say('Go on.', [{ calls: [dialect.shell('echo again')] }, { text: 'Went on.' }], {
        resume: last(),
      })
  },
  async interruptedStream({ say, dialect, last }) {
    await say(
      'Write an essay.',
      [
        { calls: [dialect.shell('echo quick')] },
        { text: 'This essay has two halves, and only one of them is ever told to anybody.', hangs: true },
        { text: 'Too late.' },
      ],
      { signal: 'SIGINT', when: 'stream' },
    )
    if (dialect.resume && last()) await say('Shorter.', [{ text: 'A short essay.' }], { resume: last() })
  },
  async killedTool({ say, dialect, last }) {
    await say(
      'Run something that ends badly.',
      [
        { text: 'Quick first.', calls: [dialect.shell('echo quick')] },
        { text: 'Now slow.', calls: [dialect.shell('touch STARTED; sleep 20; echo never')] },
      ],
      { signal: 'SIGKILL', when: 'tool' },
    )
    if (dialect.resume && last())
      await say('What happened?', [{ calls: [dialect.shell('exit 7')] }, { text: 'You killed me.' }], {
        resume: last(),
      })
  },
  async killedStream({ say, dialect, last }) {
    await say(
      'Say much.',
      [
        { thinking: 'Much it is.', text: 'First a call.', calls: [dialect.shell('echo quick')] },
        { text: 'This answer has two halves, and only one of them is ever told to anybody.', hangs: true },
      ],
      { signal: 'SIGKILL', when: 'stream' },
    )
    if (dialect.resume && last()) await say('Once more.', [{ text: 'The whole answer.' }], { resume: last() })
  },
  async two({ say, dialect }) {
    const one = (name) =>
      say(`Session ${name}.`, [{ calls: [dialect.shell(`echo ${name}`)] }, { text: `This was ${name}.` }])
    await Promise.all([one('Alpha'), one('Beta')])
  },
  async fork({ say, dialect, last }) {
    if (!dialect.fork && !dialect.copy) return false
    await say('The word is HERON.', [{ calls: [dialect.shell('echo heron')] }, { text: 'Noted: HERON.' }])
    const origin = last()
    await say('Fork: say it.', [{ calls: [dialect.shell('exit 4')] }, { text: 'HERON, says the fork.' }], {
      fork: origin,
    })
    const child = last()
    await say('Origin: say it.', [{ text: 'HERON, says the origin.' }], { resume: origin })
    if (child !== origin) await say('Fork of the fork.', [{ text: 'HERON, twice removed.' }], { fork: child })
  },
  async subagents({ say, dialect }) {
    if (!dialect.spawn) return false
    const end = (text) => (dialect.finish ? { calls: [dialect.finish(text)] } : { text })
    await say(
      'Delegate twice.',
      [
        {
          text: 'Both at once.',
          calls: [dialect.spawn('SUBTASK-A: count.'), dialect.spawn('SUBTASK-B: fail.')],
        },
        { text: 'Both are back.' },
      ],
      {
        sub: {
          'SUBTASK-A': [{ text: 'A counts.', calls: [dialect.shell('ls | wc -l')] }, end('SUB-A: one.')],
          'SUBTASK-B': [{ calls: [dialect.shell('exit 5')] }, end('SUB-B: failed with 5.')],
        },
      },
    )
  },
  async denied({ say, dialect, project, last }) {
    if (!dialect.deny) return false
    const path = join(project, 'calc.js')
    await say(
      'Remove it.',
      [{ text: 'I try.', calls: [dialect.shell(`rm -f '${path}'`)] }, { text: 'I may not.' }],
      { deny: true },
    )
    if (dialect.resume && last()) await say('Then leave it.', [{ text: 'Left.' }], { resume: last() })
  },
  async models({ say, dialect, last }) {
    if (!dialect.model) return false
    await say('One model.', [{ text: 'I am the first.' }])
    if (dialect.resume)
      await say('Another model.', [{ calls: [dialect.shell('echo x')] }, { text: 'I am the second.' }], {
        resume: last(),
        model: true,
      })
  },
  async errors({ say, dialect, last }) {
    await say('Try until it works.', [
      { calls: [dialect.shell('echo one')] },
      { status: 529 },
      { text: 'At the second try.' },
    ])
    if (dialect.resume)
      await say(
        'This fails.',
        [
          { status: 400 },
          { status: 400 },
          { status: 400 },
          { status: 400 },
          { status: 400 },
          { status: 400 },
          { status: 400 },
        ],
        { resume: last() },
      )
    if (dialect.resume) await say('And this goes on.', [{ text: 'On it goes.' }], { resume: last() })
  },
  async compaction({ say, dialect, last }) {
    if (!dialect.compact) return false
    await say('Remember 4711.', [{ calls: [dialect.shell('echo one')] }, { text: 'Noted 4711.' }])
    await say('And 4712.', [{ text: 'Noted 4712.' }], { resume: last() })
    await say(dialect.compact, [], { resume: last(), isCommand: true })
    await say('Which were they?', [{ text: '4711 and 4712.' }], { resume: last() })
  },
  async image({ say, dialect, project }) {
    writeFileSync(join(project, 'heron.png'), Buffer.from(PNG, 'base64'))
    const path = join(project, 'heron.png')
    if (dialect.image)
      await say('What is on the picture?', [{ text: 'Red.' }], { words: dialect.image(path) })
    else if (dialect.mention) await say('What is on @heron.png here?', [{ text: 'Red.' }])
    else await say('Look at the picture.', [{ calls: [dialect.read(path)] }, { text: 'Red.' }])
  },
  /** The same prompts, calls and answers again and again: each of them counts. */
  async repeats({ say, dialect, last }) {
    const steps = () => [{ text: 'Same.', calls: [dialect.shell('echo same')] }, { text: 'Done.' }]
    await say('Go on, please.', steps())
    if (!dialect.resume) return
    await say('Go on, please.', steps(), { resume: last() })
    await say('Go on, please.', steps(), { resume: last() })
  },
  /** Prompts, answers and outputs with the words that clients wrap theirs in. */
  async markup({ say, dialect, last }) {
    const prompt =
      '  First <b>line</b> & \\n stays.\n\nExit code: 3\n<system-reminder>not yours</system-reminder>'
    await say(prompt, [
      {
        text: '<system-reminder>I quote it.</system-reminder> Exit Code: 9',
        calls: [
          dialect.shell("echo 'Exit Code: 3'"),
          dialect.shell("echo 'Command failed with exit code: 9.'"),
        ],
      },
      { calls: [dialect.shell("echo '[Process exited with code 4]'; exit 6")] },
      { calls: [dialect.shell("printf 'no newline (exit code: 8)'; exit 2")] },
      { calls: [dialect.shell("printf '\\033[31mred\\033[0m'; echo 'Error (exit code 5)' >&2")] },
      { calls: [dialect.shell('true')] },
      { text: '[Request interrupted by user]' },
    ])
    if (dialect.resume)
      await say('[Request interrupted by user]', [{ text: 'You only wrote it.' }], { resume: last() })
  },
  /** Tools that do not exist, arguments that do not fit, and words between them. */
  async wrong({ say, dialect }) {
    const shell = dialect.shell('x')
    await say('Use what you have.', [
      { text: 'One that is not there.', calls: [{ tool: 'no_such_tool', input: { a: 1 }, isWrong: true }] },
      { text: 'Without arguments.', calls: [{ tool: shell.tool, input: {}, isWrong: true }] },
      { text: 'Properly.', calls: [dialect.shell('echo fine')] },
      { text: 'That went well.' },
    ])
  },
  async parallelKilled({ say, dialect, last }) {
    await say(
      'Two things at once.',
      [
        {
          text: 'Both now.',
          calls: [dialect.shell('echo quick; exit 5'), dialect.shell('touch STARTED; sleep 20; echo never')],
        },
      ],
      { signal: 'SIGKILL', when: 'tool' },
    )
    if (!dialect.resume || !last()) return
    await say(
      'Again, both of them.',
      [
        {
          text: 'Both once more.',
          calls: [dialect.shell('echo quick; exit 5'), dialect.shell('touch STARTED; sleep 20; echo never')],
        },
      ],
      { signal: 'SIGKILL', when: 'tool', resume: last() },
    )
    await say('Leave it at that.', [{ text: 'Left at that.' }], { resume: last() })
  },
  async parallelInterrupted({ say, dialect, last }) {
    await say(
      'Two things at once.',
      [
        {
          text: 'Both now.',
          calls: [dialect.shell('echo quick; exit 5'), dialect.shell('touch STARTED; sleep 20; echo never')],
        },
        { text: 'It was stopped.' },
      ],
      { signal: 'SIGINT', when: 'tool' },
    )
    if (dialect.resume && last())
      await say('Leave it at that.', [{ text: 'Left at that.' }], { resume: last() })
  },
  /** A sub-agent that has its own, a second time in the same session. */
  async nested({ say, dialect, last }) {
    if (!dialect.spawn) return false
    const end = (text) => (dialect.finish ? { calls: [dialect.finish(text)] } : { text })
    await say(
      'Delegate deeply.',
      [{ text: 'Down.', calls: [dialect.spawn('SUBTASK-A: delegate.')] }, { text: 'It is back.' }],
      {
        sub: {
          'SUBTASK-C': [{ calls: [dialect.shell('exit 9')] }, end('SUB-C: nine.')],
          'SUBTASK-A': [
            { text: 'A asks.', calls: [{ ...dialect.spawn('SUBTASK-C: fail.'), mayFail: true }] },
            end('SUB-A: asked.'),
          ],
        },
      },
    )
    if (dialect.resume)
      await say(
        'Delegate once more.',
        [{ text: 'Again.', calls: [dialect.spawn('SUBTASK-B: count.')] }, { text: 'Back again.' }],
        {
          resume: last(),
          sub: { 'SUBTASK-B': [{ text: 'B counts.', calls: [dialect.shell('ls')] }, end('SUB-B: one.')] },
        },
      )
  },
  async killedBelow({ say, dialect, last }) {
    if (!dialect.spawn) return false
    await say('Delegate slowly.', [{ text: 'Down.', calls: [dialect.spawn('SUBTASK-A: sleep.')] }], {
      signal: 'SIGKILL',
      when: 'tool',
      sub: {
        'SUBTASK-A': [
          { text: 'A looks.', calls: [dialect.shell('echo quick')] },
          { text: 'A sleeps.', calls: [dialect.shell('touch STARTED; sleep 20; echo never')] },
        ],
      },
    })
    if (dialect.resume && last()) await say('What came of it?', [{ text: 'Nothing.' }], { resume: last() })
  },
  /** An answer whose connection breaks, one that says nothing, one that is too long, and a model that counts nothing. */
  async cut({ say, dialect, last }) {
    await say('Write a novel.', [
      { calls: [dialect.shell('echo one')] },
      { text: 'This novel has two halves, of which the second comes never.', cuts: true },
      { text: 'A short novel.' },
    ])
    if (dialect.resume) await say('And a poem.', [{ text: 'A poem.' }], { resume: last() })
  },
  async silent({ say, dialect, last }) {
    await say('Say nothing.', [{ calls: [dialect.shell('true')] }, { text: '' }, { text: '' }, { text: '' }])
    if (dialect.resume)
      await say('Say too much.', [{ text: 'This is as far as it', isCutOff: true }], { resume: last() })
  },
  async uncounted({ say, dialect }) {
    await say('Count nothing.', [
      { calls: [dialect.shell('echo one')], uncounted: true },
      { text: 'Nothing was counted.', uncounted: true },
    ])
  },
  /** Some servers number the calls of each response from the beginning. */
  async sameIds({ say, dialect, last }) {
    const call = (id, command) => ({ ...dialect.shell(command), id })
    await say('Number them.', [
      { text: 'First.', calls: [call('call_0', 'echo first'), call('call_1', 'exit 4')] },
      { text: 'Second.', calls: [call('call_0', 'exit 6'), call('call_1', 'echo second')] },
      { text: 'Numbered.' },
    ])
    if (dialect.resume)
      await say('And again.', [{ calls: [call('call_0', 'exit 7')] }, { text: 'Again.' }], { resume: last() })
  },
  /** The last session of a place, without its name. */
  async continued({ say, dialect }) {
    if (!dialect.continue) return false
    await say('Begin here.', [{ calls: [dialect.shell('echo begun')] }, { text: 'Begun.' }])
    await say('Where were we?', [{ text: 'At the beginning.' }], { continues: true })
  },
  /** Its plan only: what changes things is refused, or not even there. */
  async planned({ say, dialect, project, last }) {
    if (!dialect.plan) return false
    await say(
      'Plan it first.',
      [
        { text: 'I look.', calls: [dialect.read(join(project, 'heron.txt'))] },
        { text: 'The plan has one step.' },
      ],
      { plan: true },
    )
    if (dialect.resume && last())
      await say('Now do it.', [{ calls: [dialect.shell('echo done')] }, { text: 'It is done.' }], {
        resume: last(),
      })
  },
  /** Two sessions, of which the client deletes one: what was read of it stays. */
  async deleted({ say, sweep, client, dialect, last }) {
    if (!dialect.remove) return false
    await say('Keep this one.', [{ calls: [dialect.shell('echo kept')] }, { text: 'Kept.' }])
    await say('Delete this one.', [{ calls: [dialect.shell('exit 6')] }, { text: 'As you like.' }])
    await sweep('once')
    await client(...dialect.remove(last()))
  },
  /** The clock of the machine is set back by two hours between two prompts. */
  async clockSetBack({ say, dialect, last }) {
    await say('At ten o’clock.', [{ calls: [dialect.shell('echo ten')] }, { text: 'It is ten.' }])
    if (dialect.resume)
      await say('At eight o’clock.', [{ calls: [dialect.shell('exit 8')] }, { text: 'It is eight.' }], {
        ...{ resume: last(), isEarlier: true },
      })
    await say('Another one, at eight.', [{ text: 'At eight, too.' }], { isEarlier: true })
  },
  /** The context is full: a client that sees that makes room by itself. Then it goes on twice. */
  async full({ say, dialect, last }) {
    if (!dialect.resume) return false
    const usage = { input: dialect.full ?? 190_000 }
    const mayCompact = true
    const first = [{ calls: [dialect.shell('echo one')] }, { text: 'It is full.', usage }]
    await say('Fill it up.', first, { mayCompact })
    const second = [{ calls: [dialect.shell('echo two')] }, { text: 'There is room.' }]
    await say('Is there room?', second, { resume: last(), mayCompact })
    const origin = last()
    if (dialect.fork ?? dialect.copy)
      await say('Fork what is left.', [{ text: 'A fork of the rest.' }], { fork: origin, mayCompact })
    await say('And on it goes.', [{ text: 'On and on.' }], { resume: origin, mayCompact })
  },
  async compactedFork({ say, dialect, last }) {
    if (!dialect.compact || !dialect.fork) return false
    await say('Remember 4713.', [{ calls: [dialect.shell('echo one')] }, { text: 'Noted 4713.' }])
    await say(dialect.compact, [], { resume: last(), isCommand: true })
    const origin = last()
    await say('Fork: which was it?', [{ text: '4713, says the fork.' }], { fork: origin })
    await say('Origin: which was it?', [{ text: '4713, says the origin.' }], { resume: origin })
  },
  /** Much of everything, in many scripts. */
  async large({ say, dialect, project }) {
    const line = 'é e\u0301 👩‍👩‍👧 \u202eשלום\u202c 漢字 \ttab \u2028 … '
    const lines = (count) => Array.from({ length: count }, (_, at) => `${at} ${line}`).join('')
    const print = `node -e "for(let i=0;i<40000;i++)console.log(i+' é 👩‍👩‍👧 漢字 שלום')"`
    await say(`A long prompt. ${lines(400)}`, [
      { thinking: lines(500), text: lines(1500), calls: [dialect.shell(print)] },
      { calls: [dialect.write(join(project, 'large é 漢.txt'), lines(100))] },
      { text: `The end. ${lines(500)}` },
    ])
  },
  /** One file, changed again and again; and how else commands end. */
  async changes({ say, dialect, project }) {
    const path = join(project, 'calc.js')
    writeFileSync(path, 'const one = 1\n')
    const names = ['one', 'two', 'three', 'four', 'five']
    await say('Rename it.', [
      { calls: [dialect.read(path)] },
      ...names.slice(1).map((name, at) => ({
        text: `To ${name}.`,
        calls: [dialect.edit(path, `const ${names[at]} = 1`, `const ${name} = 1`)],
      })),
      ...[1, 126, 127, 130, 255].map((code) => ({
        calls: [dialect.shell(`echo ${code} >&2; exit ${code}`)],
      })),
      { text: 'Renamed.' },
    ])
  },
}
