import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { requireSecret } from '../../../kernel/platform/secret-problem.ts'

interface Wanted {
  readonly variable: string
  readonly prompt: string
}

export interface SecretReader {
  /** Reads a secret from the environment, a prompt without echo, or the next line of standard input. Only a prompt takes any. */
  ask(wanted: Wanted): Promise<string>
  /** Lets go of standard input, so that the command can end. */
  close(): void
}

export function openSecretReader({ env, input }: Pick<CommandCall<unknown>, 'env' | 'input'>): SecretReader {
  const isTerminal = 'isTTY' in input && input.isTTY === true
  let lines: ReturnType<typeof createInterface> | undefined
  let next: AsyncIterator<string> | undefined

  async function readLine(): Promise<string> {
    const discard = new Writable({ write: (_chunk, _encoding, done) => done() }) // readline would echo
    lines ??= createInterface({ input, output: discard, terminal: isTerminal })
    next ??= lines[Symbol.asyncIterator]()
    for (;;) {
      const { value, done } = await next.next()
      if (done) return ''
      if (value !== '') return value
    }
  }

  return {
    async ask({ variable, prompt }) {
      const given = env[variable]
      if (given !== undefined && given !== '') return requireSecret(variable, given)
      if (isTerminal) process.stderr.write(prompt)
      const line = await readLine()
      if (isTerminal) process.stderr.write('\n')
      if (line === '')
        throw new Fault(
          wrongUsage,
          `no secret: set ${variable}, or enter it at the prompt or on standard input`
        )
      return isTerminal ? line : requireSecret('the secret on standard input', line)
    },
    close: () => lines?.close()
  }
}
