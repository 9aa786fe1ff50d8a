import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { requireSecret } from '../../kernel/platform/secret-problem.ts'

/** Asks at a terminal; elsewhere each answer is the next line of standard input. */
export interface Questions {
  readonly isTerminal: boolean
  ask(prompt: string): Promise<string>
  /** Asks without echo. An error names `variable` as another source of the answer. */
  askSecret(prompt: string, variable: string): Promise<string>
  close(): void
}

export function openQuestions(input: NodeJS.ReadableStream): Questions {
  const isTerminal = 'isTTY' in input && input.isTTY === true
  let isHidden = false
  const echo = new Writable({
    write(chunk, _encoding, done) {
      if (!isHidden) process.stderr.write(chunk)
      done()
    }
  })
  const lines = createInterface({ input, output: echo, terminal: isTerminal })
  const answers = lines[Symbol.asyncIterator]()

  async function ask(prompt: string): Promise<string> {
    if (isTerminal && !isHidden) {
      lines.setPrompt(prompt)
      lines.prompt()
    } else if (isTerminal) process.stderr.write(prompt)
    const { value, done } = await answers.next()
    if (done) throw new Fault(wrongUsage, `no answer to "${prompt.trim()}"; nothing is changed`)
    return String(value)
  }

  async function askSecret(prompt: string, variable: string): Promise<string> {
    isHidden = true
    try {
      const answer = await ask(prompt)
      if (isTerminal) return answer
      if (answer !== '') return requireSecret('the secret on standard input', answer)
      throw new Fault(wrongUsage, `the secret is missing: set ${variable}, or pass it on standard input`)
    } finally {
      isHidden = false
      if (isTerminal) process.stderr.write('\n')
    }
  }

  return { isTerminal, ask, askSecret, close: () => lines.close() }
}
