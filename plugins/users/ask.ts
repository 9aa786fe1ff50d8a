import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import type { CommandCall } from '../../kernel/cli/command.ts'

type Source = Pick<CommandCall<unknown>, 'env' | 'input'>

/** A new password: of the environment, a prompt, or the first line of standard input; a flag would show it to others. */
export async function askPassword({ env, input }: Source): Promise<string> {
  const given = env['SVC_NEW_PASSWORD']
  if (given !== undefined && given !== '') return given
  const isTerminal = 'isTTY' in input && input.isTTY === true
  const lines = createInterface({ input, output: silence(), terminal: isTerminal })
  const next = lines[Symbol.asyncIterator]()
  const ask = async (prompt: string): Promise<string> => {
    if (isTerminal) process.stderr.write(prompt)
    const { value = '' } = await next.next()
    if (isTerminal) process.stderr.write('\n')
    return value
  }
  try {
    const password = await ask('New password: ')
    if (password === '')
      throw new Fault(wrongUsage, 'no password came by prompt, standard input or SVC_NEW_PASSWORD')
    if (isTerminal && (await ask('The same again: ')) !== password)
      throw new Fault(wrongUsage, 'the two passwords differ')
    return password
  } finally {
    lines.close()
  }
}

/** In place of the terminal, on which readline would echo. */
const silence = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() })
