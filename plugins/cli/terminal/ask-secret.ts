import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { requireSecret } from '../../../kernel/platform/secret-problem.ts'

/** Reads a secret from the environment, a prompt without echo, or the first line of standard input. Only a prompt takes any. */
export async function askSecret(
  { env, input }: Pick<CommandCall<unknown>, 'env' | 'input'>,
  { variable, prompt }: { readonly variable: string; readonly prompt: string }
): Promise<string> {
  const given = env[variable]
  if (given !== undefined && given !== '') return requireSecret(variable, given)
  const isTerminal = 'isTTY' in input && input.isTTY === true
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() }) // readline would echo
  const lines = createInterface({ input, output: discard, terminal: isTerminal })
  if (isTerminal) process.stderr.write(prompt)
  try {
    for await (const line of lines)
      if (line !== '') return isTerminal ? line : requireSecret('the secret on standard input', line)
    throw new Fault(wrongUsage, `no secret: set ${variable}, or enter it at the prompt or on standard input`)
  } finally {
    lines.close()
    if (isTerminal) process.stderr.write('\n')
  }
}
