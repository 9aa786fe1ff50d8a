import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import type { CommandCall } from '../../kernel/cli/command.ts'

const maxChars = 65_536

/** Returns the enrollment URI: the argument, standard input for `-`, or SVC_ENROLL_URI. Throws Fault without one. */
export async function readUri(
  given: string | undefined,
  { env, input }: Pick<CommandCall<object>, 'env' | 'input'>
): Promise<string> {
  const source = given ?? env['SVC_ENROLL_URI']
  if (source === undefined)
    throw new Fault(wrongUsage, 'give the URI, give - to read it from standard input, or set SVC_ENROLL_URI')
  return source === '-' ? readInput(input) : source
}

/** Throws Fault for input that never ends, before it fills the memory. */
async function readInput(input: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of input) {
    text += String(chunk)
    if (text.length > maxChars)
      throw new Fault(
        wrongUsage,
        `standard input has more than ${maxChars} characters; give the enrollment URI alone`
      )
  }
  return text
}
