// The command line's side of the agent's socket.
import { connect } from 'node:net'
import type { Clock } from '../../kernel/base/clock.ts'
import { agentNotRunning, Fault, internal, wrongUsage } from '../../kernel/base/errors.ts'
import {
  type Answer,
  maxAnswerBytes,
  pathProblem,
  type Question,
  readLine,
  socketPathIn
} from './protocol.ts'

const answerMs = 20_000 // longer than the agent's limit for a connection

/** Asks the running agent of a state directory. Throws Fault if none answers, or if the agent refuses. */
export async function askAgent(stateDir: string, question: Question, clock: Clock): Promise<object> {
  const path = socketPathIn(stateDir)
  const problem = pathProblem(path)
  if (problem !== null) throw new Fault(wrongUsage, problem)
  const socket = connect(path)
  const cancel = clock.after(answerMs, () =>
    socket.destroy(new Error(`no answer within ${answerMs / 1000} s`))
  )
  try {
    socket.write(`${JSON.stringify(question)}\n`)
    const line = await readLine(socket, maxAnswerBytes)
    if (line === null)
      throw new Fault(
        agentNotRunning,
        `the agent of ${stateDir} closed the connection: it stops or is busy; try again`
      )
    return resultOf(JSON.parse(line) as Answer) // trusted: the agent of this user
  } catch (cause) {
    throw cause instanceof Fault ? cause : faultOf(cause as NodeJS.ErrnoException, stateDir)
  } finally {
    void cancel()
    socket.destroy()
  }
}

function resultOf(answer: Answer): object {
  if (answer.ok) return answer.value
  const { code, exit, message } = answer
  throw new Fault({ code, exit, http: internal.http }, message)
}

function faultOf(cause: NodeJS.ErrnoException, stateDir: string): Fault {
  const { code, message } = cause
  if (code === 'ENOENT' || code === 'ECONNREFUSED')
    return new Fault(
      agentNotRunning,
      `no agent runs with the state directory ${stateDir}: start one with sluice agent run, or give --config or --state-dir of the running one`,
      { cause }
    )
  if (code === 'EACCES' || code === 'EPERM')
    return new Fault(
      wrongUsage,
      `the agent of ${stateDir} runs as another user: run this command as that user`,
      { cause }
    )
  return new Fault(agentNotRunning, `the agent of ${stateDir} does not answer: ${message}`, { cause })
}
