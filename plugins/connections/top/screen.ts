// The terminal as one full screen. Restores the terminal on every exit and while the program is suspended.
import { emitKeypressEvents } from 'node:readline'
import type { ReadStream, WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import type { Line, Size } from './frame.ts'

const enter = '\x1b[?1049h\x1b[?25l' // alternate screen, hidden cursor
const leave = '\x1b[?25h\x1b[?1049l'

export interface Key {
  readonly name?: string
  readonly sequence?: string
  readonly ctrl?: boolean
  readonly meta?: boolean
}

interface Options {
  readonly input: ReadStream
  readonly output: WriteStream
  onKey(key: Key): void
  /** Called when the screen must be redrawn, for example after a resize. */
  onChange(): void
  /** Called when the terminal is gone. */
  onGone(): void
}

export interface Screen {
  size(): Size
  /** Draws all lines; skips the frame if the terminal has not accepted the previous one. */
  draw(lines: readonly Line[]): void
  /** Restores the terminal and stops the process (SIGTSTP). SIGCONT opens the screen again. */
  suspend(): void
  close(): void
}

export function openScreen({ input, output, onKey, onChange, onGone }: Options): Screen {
  let isOpen = false

  function open(): void {
    if (!isOpen) output.write(enter)
    isOpen = true
    input.setRawMode(true)
    onChange()
  }
  function restore(): void {
    if (!isOpen) return
    isOpen = false
    output.write(leave)
    input.setRawMode(false)
  }
  const keyPressed = (_: string | undefined, key: Key): void => onKey(key)

  emitKeypressEvents(input)
  input.on('keypress', keyPressed).on('end', onGone).on('error', onGone).resume()
  output.on('resize', onChange).on('error', onGone)
  process.on('SIGCONT', open) // after any stop, not only our own
  process.on('exit', restore)
  open()

  return {
    size: () => ({ width: output.columns || 80, height: output.rows || 24 }),
    draw(lines: readonly Line[]): void {
      if (!isOpen || output.writableNeedDrain) return
      const texts = lines.map(({ text, style }) =>
        style === 'plain' ? text : styleText(style, text, { stream: output })
      )
      output.write(`\x1b[H${texts.map(text => `${text}\x1b[K`).join('\r\n')}\x1b[J`)
    },
    suspend(): void {
      restore()
      process.kill(process.pid, 'SIGTSTP')
    },
    close(): void {
      restore()
      input.off('keypress', keyPressed).off('end', onGone).off('error', onGone).pause()
      output.off('resize', onChange)
      process.off('SIGCONT', open).off('exit', restore)
    }
  }
}
