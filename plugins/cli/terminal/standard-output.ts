import { defineCode, Fault, reasonOf } from '../../../kernel/base/errors.ts'

export const outputFailed = defineCode('output_failed', 500, 1)

/** Standard output. A failed write fails the command, since nobody can read its result. */
export interface StandardOutput {
  /** Aborted at the first failed write. */
  readonly failed: AbortSignal
  write(text: string): void
  /** Resolves when all is written. Throws `output_failed`, without a message if the reader has ended. */
  flush(): Promise<void>
}

export function openStandardOutput(stream: NodeJS.WritableStream): StandardOutput {
  const failure = new AbortController()
  const fail = (error: Error): void => failure.abort(error)
  stream.on('error', fail) // else Node ends the process with a stack
  let last = Promise.resolve()

  return {
    failed: failure.signal,
    write(text) {
      const { promise, resolve } = Promise.withResolvers<void>()
      stream.write(text, error => {
        if (error) fail(error)
        resolve()
      })
      last = promise
    },
    async flush() {
      await last
      const { aborted, reason } = failure.signal
      if (!aborted) return
      const why = `standard output: ${reasonOf(reason)}; the command has run, but its result is lost or incomplete`
      throw new Fault(outputFailed, reason.code === 'EPIPE' ? '' : why, { cause: reason })
    }
  }
}
