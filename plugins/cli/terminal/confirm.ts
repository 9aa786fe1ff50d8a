import { createInterface } from 'node:readline/promises'
import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { printable } from './print.ts'

interface Options {
  readonly input: NodeJS.ReadableStream
  readonly isConfirmed: boolean // --yes
}

/** Returns the `confirm` function of a command. It prompts on a terminal unless --yes was given. */
export const openConfirm =
  ({ input, isConfirmed }: Options): CommandCall<object>['confirm'] =>
  async (question, { losses = async () => [], unattended = 'proceed' } = {}) => {
    if (isConfirmed) return
    if (!('isTTY' in input) || input.isTTY !== true) {
      if (unattended === 'proceed') return
      throw new Fault(wrongUsage, `standard input is not a terminal: ${question} Give --yes`)
    }
    for (const loss of await losses()) process.stderr.write(`  ${printable(loss)}\n`)
    const terminal = createInterface({ input, output: process.stderr })
    const answer = await terminal.question(`${printable(question)} [y/N] `)
    terminal.close()
    if (!/^y(es)?$/i.test(answer.trim())) throw new Fault(wrongUsage, 'not confirmed; nothing was changed')
  }
