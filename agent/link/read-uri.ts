import { text } from 'node:stream/consumers'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import type { CommandCall } from '../../kernel/cli/command.ts'

/** Returns the enrollment URI: the argument, standard input for `-`, or SVC_ENROLL_URI. Throws Fault without one. */
export async function readUri(
  given: string | undefined,
  { env, input }: Pick<CommandCall<object>, 'env' | 'input'>
): Promise<string> {
  const source = given ?? env['SVC_ENROLL_URI']
  if (source === undefined)
    throw new Fault(wrongUsage, 'give the URI, give - to read it from standard input, or set SVC_ENROLL_URI')
  return source === '-' ? text(input) : source
}
