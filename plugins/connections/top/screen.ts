// The terminal as one full screen. It is as it was before on every exit, and while the program is suspended.
import { emitKeypressEvents } from 'node:readline'
import type { ReadStream, WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import type { Line, Size } from './frame.ts'

const enter = '\x1b[?1049h\x1b[?25l' // another screen, without a cursor
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
  /** Called when the size has changed, or the screen is to be drawn again. */
  onChange(): void
  /** Called when the terminal is gone. */
  onGone(): void
}

export type Screen = ReturnType<typeof openScreen>

export function openScreen({ input, output, onKey, onChange, onGone }: Options) {
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
  process.on('SIGCONT', open) // also of a stop that came from elsewhere
  process.on('exit', restore)
  open()

  return {
    size: (): Size => ({ width: output.columns || 80, height: output.rows || 24 }),
    /** Draws all lines, unless the terminal has not yet taken those before. */
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
