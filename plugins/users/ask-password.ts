import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import type { CommandCall } from '../../kernel/cli/command.ts'
import { requireSecret } from '../../kernel/platform/secret-problem.ts'

type Source = Pick<CommandCall<unknown>, 'env' | 'input'>

/** Reads a new password from the environment, a prompt or standard input. Never from an option, which other users see. */
export async function askPassword({ env, input }: Source): Promise<string> {
  const fromEnv = env['SVC_NEW_PASSWORD']
  if (fromEnv !== undefined && fromEnv !== '') return requireSecret('SVC_NEW_PASSWORD', fromEnv)
  const isTerminal = 'isTTY' in input && input.isTTY === true
  const lines = createInterface({ input, output: discard(), terminal: isTerminal })
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
      throw new Fault(wrongUsage, 'no password was given by prompt, standard input or SVC_NEW_PASSWORD')
    if (isTerminal && (await ask('Repeat it: ')) !== password)
      throw new Fault(wrongUsage, 'the two passwords differ')
    return isTerminal ? password : requireSecret('the password on standard input', password)
  } finally {
    lines.close()
  }
}

/** Replaces the terminal as output, where readline would echo the password. */
const discard = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() })
