// A POSIX shell on another machine, over plain `ssh`: lists files, and sends ranges of them. Nothing is installed there and
// nothing is written. One connection; requests may be sent ahead, answers come in their order. What the other side says is
// not believed: names are checked by whoever uses them, and of a range there come exactly as many bytes as were asked for
// (zeros where the file is shorter) and then the checksum of what was there.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { errnoOf, RecollectError } from '../errors.ts'
import { Cksum } from './cksum.ts'
import type { Destination } from './destination.ts'

export interface RemoteFile {
  path: string
  size: number
  /** Seconds, as the machine says them. */
  modified: string
  inode: string
}

export interface Listing {
  files: RemoteFile[]
  /** `absent`: there is nothing at this path. `partly`: some of it could not be looked at. */
  state: 'whole' | 'partly' | 'absent'
  /** Names that cannot be asked for: with a line break in them, or not in UTF-8. */
  badNames: number
}

/**
 * One line, without single quotes and exclamation marks: whichever shell a person has there, it hands this on to `sh` as it is.
 * A request is two lines, so that spaces at the end of a name survive.
 */
const SCRIPT = [
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's, which would cut off a line break at the end.
  'LC_ALL=C; export LC_ALL; nl=$(printf "\\nx"); nl=${nl%x}',
  'if find / -maxdepth 0 -printf "" >/dev/null 2>&1; then by=find; elif stat -c %s / >/dev/null 2>&1; then by=stat; else by=bsd; fi',
  'part() { tail -c "+$a" "$f" 2>/dev/null | head -c "$b"; }',
  'walk() { find -H "$f" \\( -name node_modules -o -name .git \\) -prune -o -name "*$nl*" -prune -exec echo "?" \\; -o -type f "$@" </dev/null; }',
  'printf "\\n%s\\n%s\\n%s\\n" "$0" "$HOME" "$(uname -n)"',
  'while read -r op a b && IFS= read -r f; do case $op in ' +
    'list) if [ -e "$f" ]; then case $by in find) walk -printf "%s %T@ %i %p\\n";; stat) walk -exec stat -c "%s %Y %i %n" {} +;; ' +
    '*) walk -exec stat -f "%z %m %i %N" {} +;; esac; echo ". $?"; else echo ". -"; fi;; ' +
    'send) { part; head -c "$b" /dev/zero; } | head -c "$b"; part | cksum;; ' +
    'sum) part | cksum;; esac; done',
].join('; ')

const OPTIONS = [
  '-T',
  '-a',
  '-x',
  ...[
    'ClearAllForwardings=yes',
    'PermitLocalCommand=no',
    'RemoteCommand=none',
    'ConnectTimeout=30',
    'ServerAliveInterval=15',
    'ServerAliveCountMax=4',
  ].flatMap((option) => ['-o', option]),
]

/** Of what a machine says of itself. */
const LONGEST_LINE = 64 << 10
const MOST_WORDS = 4000

export class RemoteShell {
  readonly #destination: Destination
  readonly #child: ChildProcessWithoutNullStreams
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)
  #words = ''
  #failure: Error | undefined
  readonly #ended: Promise<void>
  home = ''
  name = ''

  private constructor(destination: Destination, child: ChildProcessWithoutNullStreams) {
    this.#destination = destination
    this.#child = child
    this.#chunks = child.stdout[Symbol.asyncIterator]()
    child.stderr.on('data', (words: Buffer) => {
      this.#words = `${this.#words}${words}`.slice(-MOST_WORDS)
    })
    // What it dies of is told where its answer is missed.
    child.stdin.on('error', () => undefined)
    child.on('error', (error) => {
      this.#failure = error
    })
    this.#ended = new Promise((done) => {
      child.on('close', () => done())
      child.on('error', () => done())
    })
  }

  static async open(destination: Destination): Promise<RemoteShell> {
    const mark = `recollect-${randomBytes(9).toString('hex')}`
    const child = spawn('ssh', [...OPTIONS, '--', destination.address, `exec sh -c '${SCRIPT}' ${mark}`], {
      stdio: 'pipe',
    })
    const shell = new RemoteShell(destination, child)
    try {
      // What start-up files of the account print comes before.
      while ((await shell.#line()).toString() !== mark);
      shell.home = (await shell.#line()).toString()
      shell.name = (await shell.#line()).toString()
      return shell
    } catch (error) {
      await shell.close()
      throw error
    }
  }

  /** Every file at or below a path; a link at the path itself is followed, none below it. */
  ask(path: string): void {
    this.#request('list - -', path)
  }

  async listing(): Promise<Listing> {
    const files: RemoteFile[] = []
    let badNames = 0
    for (;;) {
      const bytes = await this.#line()
      const line = bytes.toString()
      if (line.startsWith('. '))
        return { files, badNames, state: line === '. 0' ? 'whole' : line === '. -' ? 'absent' : 'partly' }
      const found = /^(\d{1,15}) (\d{1,15}(?:\.\d+)?) (\d+) (\/.*)$/s.exec(line)
      if (!found || Buffer.compare(Buffer.from(line), bytes) !== 0) badNames++
      else {
        const [, size, modified, inode, path] = found as unknown as string[]
        files.push({ path, size: Number(size), modified, inode } as RemoteFile)
      }
    }
  }

  askFor(path: string, from: number, length: number): void {
    this.#request(`send ${from + 1} ${length}`, path)
  }

  /** Hands on what was asked for; false where the file does not have so much, or is another one by now. */
  async receive(length: number, take: (bytes: Buffer) => void): Promise<boolean> {
    const sum = new Cksum()
    while (sum.count < length) {
      if (this.#rest.length === 0) await this.#more()
      const bytes = this.#rest.subarray(0, length - sum.count)
      this.#rest = this.#rest.subarray(bytes.length)
      sum.add(bytes)
      take(bytes)
    }
    return (await this.#line()).toString() === `${sum}`
  }

  /** Checksum and count of a range, as `cksum` prints them. */
  async sumOf(path: string, length: number): Promise<string> {
    this.#request(`sum 1 ${length}`, path)
    return (await this.#line()).toString()
  }

  #request(words: string, path: string): void {
    this.#child.stdin.write(`${words}\n${path}\n`)
  }

  async #line(): Promise<Buffer> {
    for (let seen = 0; ; ) {
      const end = this.#rest.indexOf(10, seen)
      if (end !== -1) {
        const line = this.#rest.subarray(0, end)
        this.#rest = this.#rest.subarray(end + 1)
        return line
      }
      seen = this.#rest.length
      if (seen > LONGEST_LINE) throw this.#lost('it says what no shell of ours would')
      await this.#more()
    }
  }

  async #more(): Promise<void> {
    const next = await this.#chunks.next().catch((cause: unknown) => {
      throw this.#lost('the connection broke', cause)
    })
    if (next.done) {
      await this.#ended
      throw this.#lost('the connection ended')
    }
    this.#rest = this.#rest.length === 0 ? next.value : Buffer.concat([this.#rest, next.value])
  }

  #lost(what: string, cause: unknown = this.#failure): RecollectError {
    const where = this.#destination.key
    if (errnoOf(cause) === 'ENOENT')
      return new RecollectError('NOT_FOUND', 'there is no ssh here', {
        where,
        cause,
        hint: "install OpenSSH's client, or put it into PATH",
      })
    const words = this.#words.trim().split('\n').at(-1)?.trim()
    return new RecollectError('UNREACHABLE', what, {
      where,
      cause: cause ?? (words || undefined),
      hint: `does \`ssh ${this.#destination.address} true\` work? What was copied stays: run it again`,
    })
  }

  async close(): Promise<void> {
    this.#child.stdin.end()
    // Whatever it still sends is of no use, and would keep it waiting.
    this.#child.stdout.destroy()
    this.#child.kill()
    await this.#ended
  }
}
