// The local socket of the running agent, for the command line of this host: a file in the state directory.
import { chmodSync, lstatSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { type TObject, Type } from 'typebox'
import type { Clock } from '../../kernel/base/clock.ts'
import { validateConfig } from '../../kernel/base/config.ts'
import { Fault, internal, reasonOf, wrongUsage } from '../../kernel/base/errors.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { Refused } from '../../kernel/wire/message.ts'
import {
  type Answer,
  maxAnswerBytes,
  maxQuestionBytes,
  pathProblem,
  type Question,
  readLine,
  socketPathIn
} from './protocol.ts'

/** A command that the socket runs. */
export interface LocalCommand {
  readonly name: string
  readonly args?: TObject
  run(args: Question['args']): object | Promise<object>
}

interface Options {
  readonly stateDir: string // locked by this process
  readonly commands: () => readonly LocalCommand[]
  readonly clock: Clock
  readonly log: Log
}

const maxClients = 8
const connectionMs = 15_000 // for the question, the command and the answer together

/** Opens the socket for its owner only. If that fails, the agent runs without it and logs the reason. */
export async function openControlSocket(options: Options): Promise<Release> {
  const { stateDir, clock, log } = options
  const path = socketPathIn(stateDir)
  const open = new Set<Socket>()
  const server = createServer(socket => {
    open.add(socket)
    const cancel = clock.after(connectionMs, () => socket.destroy())
    socket.once('close', () => {
      void cancel()
      open.delete(socket)
    })
    void serve(socket, options)
  })
  server.maxConnections = maxClients
  try {
    const problem = pathProblem(path)
    if (problem !== null) throw new Error(problem)
    removeStale(path)
    await listen(server, path)
    chmodSync(path, 0o600)
  } catch (error) {
    log.warn('agent.socket_unavailable', `sluice agent status cannot reach this agent: ${reasonOf(error)}`)
  }
  return async () => {
    for (const socket of open) socket.destroy()
    const closed = Promise.withResolvers<void>()
    server.close(() => closed.resolve())
    await closed.promise
  }
}

/** A socket left behind by a killed agent is stale, since the state directory is locked. */
function removeStale(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket()) rmSync(path)
}

function listen(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(path, resolve)
  return promise
}

/** Never rejects: errors of a connection end only that connection. */
async function serve(socket: Socket, options: Options): Promise<void> {
  const line = await readLine(socket, maxQuestionBytes).catch(() => null)
  if (line === null) return void socket.destroy()
  const text = textOf(await answerTo(line, options).catch(error => refusalOf(error, options.log)))
  socket.end(`${text}\n`)
}

async function answerTo(line: string, { commands }: Options): Promise<Answer> {
  const { command: name, args } = questionIn(line)
  const command = commands().find(command => command.name === name)
  if (!command)
    throw new Fault(
      wrongUsage,
      `the running agent has no command ${name}: its plugin is not loaded; restart the agent, or reload it with SIGHUP`
    )
  const { value, problems } = validateConfig(command.args ?? Type.Object({}), args, '')
  if (problems.length > 0) throw new Fault(wrongUsage, problems.join('\n'))
  return { ok: true, value: await command.run(value) }
}

function questionIn(line: string): Question {
  try {
    const { command, args = {} } = JSON.parse(line) as Partial<Question> // checked here
    if (typeof command === 'string' && typeof args === 'object' && args !== null) return { command, args }
  } catch (cause) {
    throw new Fault(wrongUsage, 'the question is not a line of JSON', { cause })
  }
  throw new Fault(wrongUsage, 'the question is not {"command": NAME, "args": {...}}')
}

/** Errors of plugins were logged before: see `guardPlugin`. */
function refusalOf(error: unknown, log: Log): Answer {
  const { message } = error as Error
  if (error instanceof Fault)
    return { ok: false, code: error.errorCode.code, exit: error.errorCode.exit, message }
  if (error instanceof Refused) return { ok: false, code: error.code, exit: internal.exit, message }
  log.error('agent.command_failed', reasonOf(error), { error: error instanceof Error ? error.stack : null })
  return {
    ok: false,
    code: internal.code,
    exit: internal.exit,
    message: 'the agent failed; its log says why'
  }
}

function textOf(answer: Answer): string {
  const text = JSON.stringify(answer)
  if (Buffer.byteLength(text) < maxAnswerBytes) return text
  const message = `the answer has more than ${maxAnswerBytes} bytes; ask for less`
  return JSON.stringify({ ok: false, code: internal.code, exit: internal.exit, message } satisfies Answer)
}
