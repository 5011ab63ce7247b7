// Hooks in agents' settings: what goes in comes out again, to the byte, and nothing else is touched.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'jsonc-parser'
import { describe, expect, it } from 'vitest'
import { INTEGRATIONS } from '../src/adapters/integrations.ts'
import { readSettings } from '../src/capture/hook-status.ts'
import { applyPlan, handlerOf, makeHandler, planInstall, planUninstall } from '../src/capture/hooks.ts'
import { findHandlers, type Handler, withHandler, withoutHandlers } from '../src/capture/settings.ts'
import { cli, cliPath, temporary } from './setup/sweeping.ts'

const EVENTS = ['SessionStart', 'Stop', 'SessionEnd']
const HANDLER: Handler = {
  type: 'command',
  command: "'/usr/bin/node' '/opt/recollect/dist/recollect-hook.cjs'",
  timeout: 5,
}

const FOREIGN = '{"type":"command","command":"./mine.sh"}'
const TEXTS: Record<string, string> = {
  'an empty file': '',
  'a file of white space': ' \n\n',
  'an empty object': '{}',
  'an empty object with a newline': '{\n}\n',
  'other settings': '{\n  "model": "opus",\n  "permissions": {"allow": ["Bash(ls:*)"]}\n}\n',
  'comments and a trailing comma':
    '// top\n{\n  "model": "opus", // mine\n  /* keep */ "env": {},\n}\n// end\n',
  'foreign hooks on the same event': `{\n  "hooks": {\n    "Stop": [\n      {"hooks": [${FOREIGN}]}\n    ]\n  }\n}\n`,
  'foreign hooks with a matcher, on one line': `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[${FOREIGN}]}]}}`,
  'an event with an empty list': '{"hooks": {"Stop": []}}',
  'tabs and CRLF': '{\r\n\t"model": "opus",\r\n\t"env": {\r\n\t\t"A": "1"\r\n\t}\r\n}\r\n',
  'a byte order mark': '\ufeff{"model": "opus"}\n',
  'comments around foreign hooks': `{\n  "hooks": {\n    // mine\n    "Stop": [\n      // first\n      {"hooks": [${FOREIGN}]} // last\n    ]\n    // no more\n  },\n  "a": {"b": [1,2]} // end\n}\n`,
  'comments where hooks could be': '{\n  "hooks": {\n    // none yet\n  },\n  "a": 1\n}\n',
  'entries that are no groups':
    '{"hooks": {"Stop": [null, "x", [], {"hooks": 1}], "SessionEnd": []}, "a": "//"}',
  'text that needs escapes': '{"model": "\\u00e9 \\" \\\\ 😀", "__proto__": {"a": 1}}\n',
}

describe('the text of settings', () => {
  it.each(Object.entries(TEXTS))('gets each handler once, and the same text again: %s', (_, text) => {
    const once = withHandler(text, EVENTS, HANDLER, 'file')
    expect(withHandler(once, EVENTS, HANDLER, 'file')).toBe(once)
    expect(findHandlers(once, 'file').map((one) => [one.event, one.value])).toEqual(
      expect.arrayContaining(EVENTS.map((event) => [event, HANDLER])),
    )
    expect(findHandlers(once, 'file')).toHaveLength(EVENTS.length)
  })

  it.each(Object.entries(TEXTS))('means the same again once they are taken out: %s', (_, text) => {
    const out = withoutHandlers(withHandler(text, EVENTS, HANDLER, 'file'), 'file')
    expect(findHandlers(out, 'file')).toEqual([])
    const meaning = (one: string): unknown => {
      const value = parse(one.replace('\ufeff', '') || '{}', [], { allowTrailingComma: true }) as {
        hooks?: Record<string, unknown[]>
      }
      for (const [event, groups] of Object.entries(value?.hooks ?? {}))
        if (groups.length === 0) delete value.hooks?.[event]
      return value?.hooks && Object.keys(value.hooks).length === 0
        ? { ...value, hooks: undefined }
        : (value ?? {})
    }
    expect(meaning(out)).toEqual(meaning(text.trim() === '' ? '{}' : text))
    for (const [comment] of text.matchAll(/\/\/.*|\/\*.*?\*\//g)) expect(out).toContain(comment)
  })

  const LAID_OUT = Object.entries(TEXTS).filter(([, text]) => /\{\r?\n(.*\n)+\}/.test(text))

  it.each(LAID_OUT)('keeps every line as it is written, but for a comma: %s', (_, text) => {
    const installed = withHandler(text, EVENTS, HANDLER, 'file')
    const bare = (of: string): string[] => of.split('\n').map((line) => line.replace(/,(?=\s*(\/\/|$))/, ''))
    expect(bare(installed)).toEqual(expect.arrayContaining(bare(text)))
    expect(bare(withoutHandlers(installed, 'file'))).toEqual(bare(text))
  })

  it('is freed of handlers when settings, matchers and comments have come to stand around them', () => {
    const installed = withHandler('', ['Stop'], HANDLER, 'file')
    const added = installed.replace(/\n\}\n$/, ',\n  "model": "opus"\n}\n')
    expect(withoutHandlers(added, 'file')).toBe('{\n  "model": "opus"\n}\n')
    const matched = installed.replace('"hooks": [\n          {', '"matcher": "*", $&')
    expect(matched).not.toBe(installed)
    expect(parse(withoutHandlers(matched, 'file'))).toEqual({})
    const commented = `{\n  "a": 1, // one\n  // two\n${installed.slice(2, -2).replace('"Stop"', '/* three */ "Stop"')}  // four\n}\n`
    const freed = withoutHandlers(commented, 'file')
    expect(freed.match(/\/\/ \w+|\/\*.*?\*\//g)).toEqual(['// one', '// two', '/* three */', '// four'])
    expect(parse(freed)).toEqual({ a: 1, hooks: {} })
  })

  it('gets an old handler of ours replaced in its place, and doubles and old events removed', () => {
    const old = { ...HANDLER, command: "'/old/node' '/old/recollect/dist/recollect-hook.cjs'" }
    const text = JSON.stringify({
      hooks: {
        Stop: [{ hooks: [JSON.parse(FOREIGN), old] }, { hooks: [HANDLER] }],
        Notification: [{ hooks: [old] }],
      },
    })
    const after = parse(withHandler(text, EVENTS, HANDLER, 'file')) as { hooks: Record<string, unknown> }
    expect(after.hooks['Stop']).toEqual([{ hooks: [JSON.parse(FOREIGN), HANDLER] }])
    expect(after.hooks['Notification']).toBeUndefined()
  })

  it('leaves alone a program that is only named like ours', () => {
    const text = JSON.stringify({ hooks: { Stop: [{ hooks: [{ command: 'not-recollect-hook.cjs.sh' }] }] } })
    expect(withoutHandlers(text, 'file')).toBe(text)
  })

  it.each([
    ['no JSON', '{"hooks": ', /not valid JSON/],
    ['a list', '[]', /no JSON object/],
    ['hooks that are no object', '{"hooks": []}', /"hooks" is no object/],
    ['an event that is no list', '{"hooks": {"Stop": {}}}', /"Stop" is no list/],
    ['a key that stands there twice', '{"hooks": {}, "hooks": {}}', /twice/],
    ['an event that stands there twice', '{"hooks": {"Stop": [], "Stop": []}}', /twice/],
  ])('is refused, with its place: %s', (_, text, message) => {
    expect(() => withHandler(text, EVENTS, HANDLER, 'settings.json')).toThrow(message)
  })
})

describe('settings files', () => {
  const script = join(cliPath, '..', 'recollect-hook.cjs')

  function home(): { env: Record<string, string>; handler: Handler } {
    const HOME = temporary('hooks')
    return { env: { HOME }, handler: makeHandler({ HOME }, script) }
  }

  // Of the others: 76-hook-forms.
  const grouped = INTEGRATIONS.filter(({ hooks }) => hooks.form === undefined)
  describe.each(grouped.map((one) => [one.flavor, one] as const))('of %s', (_, agent) => {
    it.each(Object.entries(TEXTS))('come back to the byte, with their mode: %s', (_, text) => {
      const { env, handler } = home()
      const file = agent.hooks.file(env)
      mkdirSync(join(file, '..'), { recursive: true })
      writeFileSync(file, text)
      chmodSync(file, 0o664)
      applyPlan(planInstall(agent, env, handler))
      const installed = readFileSync(file, 'utf8')
      expect(findHandlers(installed, file)).toHaveLength(agent.hooks.events.length)
      expect(readFileSync(`${file}.before-recollect`, 'utf8')).toBe(text)
      applyPlan(planInstall(agent, env, handler))
      expect(readFileSync(file, 'utf8')).toBe(installed)
      applyPlan(planUninstall(agent, env))
      expect(readFileSync(file, 'utf8')).toBe(text)
      expect(statSync(file).mode & 0o777).toBe(0o664)
      expect(existsSync(`${file}.before-recollect`)).toBe(false)
    })

    it('that were not there are gone again', () => {
      const { env, handler } = home()
      const file = agent.hooks.file(env)
      mkdirSync(agent.home(env), { recursive: true })
      applyPlan(planInstall(agent, env, handler))
      expect(statSync(file).mode & 0o777).toBe(0o600)
      applyPlan(planUninstall(agent, env))
      expect(existsSync(file)).toBe(false)
    })

    it('that were not there are gone again, also beside an old backup', () => {
      const { env, handler } = home()
      const file = agent.hooks.file(env)
      mkdirSync(join(file, '..'), { recursive: true })
      writeFileSync(`${file}.before-recollect`, '{"old": 1}')
      applyPlan(planInstall(agent, env, handler))
      applyPlan(planUninstall(agent, env))
      expect(existsSync(file)).toBe(false)
      expect(readFileSync(`${file}.before-recollect`, 'utf8')).toBe('{"old": 1}')
    })

    it('that another version of ours was installed in come back to the byte', () => {
      const { env, handler } = home()
      const file = agent.hooks.file(env)
      mkdirSync(join(file, '..'), { recursive: true })
      writeFileSync(file, '{"a": 1, "b": [1,2]}')
      applyPlan(planInstall(agent, env, { ...handler, command: `${handler.command} '/elsewhere'` }))
      applyPlan(planInstall(agent, env, handler))
      expect(findHandlers(readFileSync(file, 'utf8'), file)[0]?.value).toEqual(handlerOf(agent, handler))
      applyPlan(planUninstall(agent, env))
      expect(readFileSync(file, 'utf8')).toBe('{"a": 1, "b": [1,2]}')
    })

    it('that a person changed meanwhile keep the change', () => {
      const { env, handler } = home()
      const file = agent.hooks.file(env)
      mkdirSync(join(file, '..'), { recursive: true })
      writeFileSync(file, '{"a": 1}')
      applyPlan(planInstall(agent, env, handler))
      writeFileSync(file, readFileSync(file, 'utf8').replace('"a": 1', '"a": 2'))
      applyPlan(planUninstall(agent, env))
      expect(parse(readFileSync(file, 'utf8'))).toEqual({ a: 2 })
    })
  })

  const [agent] = INTEGRATIONS as [(typeof INTEGRATIONS)[number]]

  it('say how long to wait in what their agent counts in', () => {
    const { handler } = home()
    const waits = (flavor: string): number | undefined => {
      const one = INTEGRATIONS.find((integration) => integration.flavor === flavor)
      return one && handlerOf(one, handler).timeout
    }
    expect([waits('claude'), waits('gemini'), waits('qwen')]).toEqual([3, 3000, 3000])
  })

  it('that are a link stay one', () => {
    const { env, handler } = home()
    const file = agent.hooks.file(env)
    mkdirSync(agent.home(env))
    const dotfile = join(env['HOME'] as string, 'dotfile.json')
    writeFileSync(dotfile, '{}')
    symlinkSync('../dotfile.json', file)
    applyPlan(planInstall(agent, env, handler))
    expect(readlinkSync(file)).toBe('../dotfile.json')
    expect(lstatSync(dotfile).isFile()).toBe(true)
    expect(findHandlers(readFileSync(dotfile, 'utf8'), file)).toHaveLength(agent.hooks.events.length)
  })

  it('that lead nowhere, are no file, have a second name or are no text are refused', () => {
    const refusals = [
      (file: string) => symlinkSync('nowhere', file),
      (file: string) => mkdirSync(file),
      (file: string) => execFileSync('mkfifo', [file]),
      (file: string) => {
        writeFileSync(file, '{}')
        linkSync(file, `${file}.twin`)
      },
      (file: string) => writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d])),
    ].map((make) => {
      const { env, handler } = home()
      mkdirSync(agent.home(env))
      make(agent.hooks.file(env))
      try {
        applyPlan(planInstall(agent, env, handler))
        return 'installed'
      } catch (error) {
        return (error as { code: string }).code
      }
    })
    expect(refusals).toEqual(['UNSAFE_PATH', 'NOT_A_FILE', 'NOT_A_FILE', 'UNSAFE_PATH', 'BAD_INPUT'])
  })

  it('that change between plan and action stay as they are', () => {
    const { env, handler } = home()
    const file = agent.hooks.file(env)
    mkdirSync(agent.home(env))
    writeFileSync(file, '{"a": 1}')
    const plan = planInstall(agent, env, handler)
    writeFileSync(file, '{"a": 2}')
    expect(() => applyPlan(plan)).toThrow(/changed meanwhile/)
    expect(readFileSync(file, 'utf8')).toBe('{"a": 2}')
  })

  it('get the home that only this shell knows, from wherever the agent will start it', () => {
    const commandWith = (more: Record<string, string>): string =>
      makeHandler({ HOME: '/home/me', ...more }, script).command
    const plain = commandWith({})
    expect(plain).toBe(`'${process.execPath}' '${script}'`)
    expect(commandWith({ RECOLLECT_HOME: 'memory' })).toBe(`${plain} '${resolve('memory')}'`)
    expect(commandWith({ XDG_DATA_HOME: '/data' })).toBe(`${plain} '/data/recollect'`)
    // Said by many systems, and no news to anybody.
    expect(commandWith({ XDG_DATA_HOME: '/home/me/.local/share' })).toBe(plain)
  })

  it('never get a path into the cache of npx', () => {
    expect(() =>
      makeHandler({}, '/home/me/.npm/_npx/0a1b/node_modules/recollect/dist/recollect-hook.cjs'),
    ).toThrow(/npx/)
  })

  it('get paths with spaces and quotes quoted for the shell, and a home that only this shell knows', () => {
    const odd = join(temporary('hooks'), "it's here")
    mkdirSync(odd)
    const copy = join(odd, 'recollect-hook.cjs')
    writeFileSync(copy, 'require("fs").writeFileSync(process.argv[2], "ran")')
    const { command } = makeHandler({ RECOLLECT_HOME: join(odd, 'memory') }, copy)
    execFileSync('/bin/sh', ['-c', command])
    expect(readFileSync(join(odd, 'memory'), 'utf8')).toBe('ran')
  })
})

describe('trust', () => {
  it('of Codex holds for what was approved, and for nothing else', () => {
    const codex = INTEGRATIONS.find((one) => one.flavor === 'codex') as (typeof INTEGRATIONS)[number]
    const HOME = temporary('hooks')
    const file = codex.hooks.file({ HOME })
    mkdirSync(join(HOME, '.codex'))
    // As Codex 0.166.0 names and hashes them.
    const trusted = {
      stop: '564756ea13aa88f069e6895a18fa4d40348b0d95aafd4e26446308c151d43f6f',
      session_end: '09fbba7f53116d6ddc7e7affb5afaa22f40703f8dc371cfa30f4f7390c9f74ec',
    }
    const handler = { ...HANDLER, timeout: 3 }
    const kindWith = (events: string[], value: Handler): string | undefined => {
      const text = withHandler('', events, value, file)
      return codex.hooks.obstacle?.({
        env: { HOME },
        file,
        found: findHandlers(text, file),
        settings: readSettings,
      })?.kind
    }
    expect(kindWith(['Stop'], handler)).toBe('trust')
    const lines = Object.entries(trusted).map(
      ([name, hash]) => `[hooks.state."${file}:${name}:0:0"]\ntrusted_hash = "sha256:${hash}"\n`,
    )
    writeFileSync(join(HOME, '.codex', 'config.toml'), lines.join(''))
    expect(kindWith(['Stop', 'SessionEnd'], handler)).toBeUndefined()
    expect(kindWith(['Stop', 'PreCompact'], handler)).toBe('trust')
    expect(kindWith(['Stop'], { ...handler, timeout: 4 })).toBe('trust')
    writeFileSync(join(HOME, '.codex', 'config.toml'), lines.join('enabled = false\n'))
    expect(kindWith(['Stop'], handler)).toBe('disabled')
  })
})

describe('recollect hooks', () => {
  it('shows a plan, installs, tells, tries and uninstalls', () => {
    const HOME = temporary('hooks')
    const env = { HOME }
    for (const agent of INTEGRATIONS) mkdirSync(agent.home(env), { recursive: true })
    const plan = cli(env, 'hooks', 'install', '--dry-run')
    expect(plan).toMatchObject({ code: 0, stderr: '' })
    // A module names it once for all of its events; a script in what it runs, and in what is said of it.
    const counts = INTEGRATIONS.map(({ hooks }) =>
      hooks.form === 'plugin' ? 1 : hooks.form === 'script' ? 2 : hooks.events.length,
    )
    const all = counts.reduce((sum, count) => sum + count, 0)
    expect(plan.stdout.match(/^\+.*recollect-hook\.cjs/gm)).toHaveLength(all)
    for (const agent of INTEGRATIONS) expect(existsSync(agent.hooks.file(env))).toBe(false)

    expect(cli(env, 'hooks', 'install').code).toBe(0)
    const status = (): Record<string, unknown>[] =>
      (JSON.parse(cli(env, 'hooks', 'status', '--json').stdout) as { agents: Record<string, unknown>[] })
        .agents
    expect(status().map((one) => [one['agent'], one['installed'], one['wanted'], one['problem']])).toEqual(
      INTEGRATIONS.map((one) => [one.flavor, one.hooks.events.length, one.hooks.events.length, null]),
    )
    // One text for all of those that may read each other's settings.
    const named = INTEGRATIONS.filter(({ hooks }) => hooks.namesNoFile).length
    expect(new Set(status().map((one) => one['command'])).size).toBe(1 + named)
    expect(status().find((one) => one['agent'] === 'codex')?.['obstacle']).toMatchObject({ kind: 'trust' })

    const tried = cli(env, 'hooks', 'test', '--json')
    expect(tried.code).toBe(0)
    expect((JSON.parse(tried.stdout) as { agents: { ok: boolean }[] }).agents.map((one) => one.ok)).toEqual(
      INTEGRATIONS.map(() => true),
    )

    expect(cli(env, 'hooks', 'uninstall').code).toBe(0)
    for (const agent of INTEGRATIONS) expect(existsSync(agent.hooks.file(env))).toBe(false)
    expect(cli(env, 'hooks', 'test').code).toBe(1)
  })

  it('says which hooks an agent does not run, and which are from a program that is gone', () => {
    const HOME = temporary('hooks')
    mkdirSync(join(HOME, '.codex'))
    mkdirSync(join(HOME, '.claude'))
    cli({ HOME }, 'hooks', 'install')
    writeFileSync(join(HOME, '.codex', 'config.toml'), '[features]\nhooks = false\n')
    const settings = join(HOME, '.claude', 'settings.json')
    const text = readFileSync(settings, 'utf8')
    writeFileSync(
      settings,
      text
        .replaceAll(/'[^']*recollect-hook/g, "'/gone/recollect-hook")
        .replace('{', '{"disableAllHooks": true,'),
    )
    const { stdout } = cli({ HOME }, 'hooks', 'status')
    expect(stdout).toContain('/gone/recollect-hook.cjs is gone')
    expect(stdout).toContain('off: "disableAllHooks"')
    expect(stdout).toContain('off: hooks are turned off under [features]')
    expect(cli({ HOME }, 'hooks', 'test', '--agent', 'claude').code).toBe(1)
  })

  it.each(INTEGRATIONS.filter(({ hooks }) => hooks.off).map((one) => [one.flavor, one] as const))(
    'says by which setting %s runs none',
    (flavor, { hooks, home }) => {
      const env = { HOME: temporary('hooks') }
      mkdirSync(home(env), { recursive: true })
      cli(env, 'hooks', 'install', '--agent', flavor)
      const obstacle = () => {
        const { agents } = JSON.parse(cli(env, 'hooks', 'status', '--agent', flavor, '--json').stdout) as {
          agents: { obstacle: { what: string } | null }[]
        }
        return agents[0]?.obstacle?.what
      }
      expect(obstacle()).toBeUndefined()
      const { key, when, file = hooks.file } = hooks.off as NonNullable<typeof hooks.off>
      const before = existsSync(file(env)) ? (JSON.parse(readFileSync(file(env), 'utf8')) as object) : {}
      const setting = key.split('.').reduceRight<unknown>((value, name) => ({ [name]: value }), when)
      writeFileSync(file(env), JSON.stringify({ ...before, ...(setting as object) }))
      expect(obstacle()).toContain(`"${key}" is ${when}`)
    },
  )

  it('leaves a broken file as it is, names it, and sees to the others', () => {
    const HOME = temporary('hooks')
    mkdirSync(join(HOME, '.codex'))
    mkdirSync(join(HOME, '.claude'))
    writeFileSync(join(HOME, '.claude', 'settings.json'), '{"hooks": oops}')
    const { code, stderr } = cli({ HOME }, 'hooks', 'install')
    expect(code).not.toBe(0)
    expect(stderr).toContain('settings.json:1')
    expect(readFileSync(join(HOME, '.claude', 'settings.json'), 'utf8')).toBe('{"hooks": oops}')
    expect(existsSync(join(HOME, '.codex', 'hooks.json'))).toBe(true)
  })

  it('refuses an agent it does not know, and says where it looked when there is none', () => {
    const HOME = temporary('hooks')
    expect(cli({ HOME }, 'hooks', 'install', '--agent', 'claud')).toMatchObject({ code: 2 })
    const none = cli({ HOME }, 'hooks', 'install')
    expect(none.code).toBe(1)
    expect(none.stderr).toContain(join(HOME, '.claude'))
  })
})
