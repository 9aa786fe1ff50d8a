// Runs a program in a pseudo-terminal: script(1) makes the pty, xterm interprets the output.
import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import xterm from '@xterm/headless'
import type { Test } from 'tap'
import { spawnChild } from '../../../test/support/child-process.ts'

/** The reason why this host has no pseudo-terminal; null: it has one. */
export const noTerminal: string | null = /util-linux/.test(
  String(spawnSync('script', ['--version']).stdout ?? '')
)
  ? null
  : 'needs script(1) of util-linux'

const bin = fileURLToPath(new URL('../../../kernel/bin.ts', import.meta.url))

export interface TestTerminal {
  /** Resolves with the lines of the screen once they match. */
  until(fits: (screen: string) => boolean): Promise<string>
  type(keys: string): void
  resize(columns: number, rows: number): void
  /** Sends a signal to the program. */
  kill(signal: NodeJS.Signals): void
  /** True while the alternate screen is shown. */
  isFull(): boolean
  /** The whole output. */
  written(): string
  readonly exit: Promise<number>
}

interface Options {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly columns?: number
  readonly rows?: number
}

/** Runs sluice with these arguments. */
export async function openTerminal(
  t: Test,
  { args, env, columns = 80, rows = 24 }: Options
): Promise<TestTerminal> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-terminal-'))
  const line = `stty rows ${rows} cols ${columns}; tty > ${dir}/tty; echo $$ > ${dir}/pid; exec ${[process.execPath, bin, ...args].map(quoted).join(' ')}`
  const child = spawnChild('script', ['-qefc', line, '/dev/null'], {
    stdio: 'pipe',
    env: { ...process.env, TERM: 'xterm-256color', ...env }
  })
  t.teardown(() => {
    child.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  })
  const exit = once(child, 'close').then(([code]) => Number(code))
  const screen = new Screen(child, columns, rows)
  const read = (name: string) => readFileSync(join(dir, name), 'utf8').trim()
  return {
    until: fits => screen.until(fits),
    type: keys => void child.stdin.write(keys),
    resize(width, height) {
      screen.terminal.resize(width, height)
      spawnSync('stty', ['-F', read('tty'), 'rows', String(height), 'cols', String(width)])
    },
    kill: signal => void process.kill(Number(read('pid')), signal),
    isFull: () => screen.terminal.buffer.active.type === 'alternate',
    written: () => screen.text,
    exit
  }
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

class Screen {
  readonly terminal
  text = ''
  #shown = '' // the part of `text` that the screen shows
  #changed = Promise.withResolvers<void>()
  #hasEnded = false

  constructor({ stdout }: ChildProcess, cols: number, rows: number) {
    this.terminal = new xterm.Terminal({ cols, rows, allowProposedApi: true })
    stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.text += text
      this.terminal.write(text, () => {
        this.#shown += text
        this.#change()
      })
    })
    stdout?.on('end', () => {
      this.#hasEnded = true
      this.#change()
    })
  }

  #change(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  /** False while a part of a frame has arrived: it begins at the top, and ends by clearing what is below. */
  get #isWhole(): boolean {
    return this.#shown.lastIndexOf('\x1b[J') >= this.#shown.lastIndexOf('\x1b[H')
  }

  get #lines(): string {
    const { active } = this.terminal.buffer
    return Array.from({ length: this.terminal.rows }, (_, at) =>
      active.getLine(active.baseY + at)?.translateToString(true, 0, this.terminal.cols)
    ).join('\n')
  }

  /** Fails after a minute, also if the screen keeps changing. */
  async until(fits: (screen: string) => boolean): Promise<string> {
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new Error(`the screen still shows\n${this.#lines}`)), 60_000)
    try {
      for (;;) {
        const lines = this.#lines
        if (this.#isWhole && fits(lines)) return lines
        if (this.#hasEnded) throw new Error(`the program has ended, and the screen shows\n${lines}`)
        await Promise.race([this.#changed.promise, late.promise])
      }
    } finally {
      clearTimeout(timer)
    }
  }
}
