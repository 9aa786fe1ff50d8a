// A real server and agent with injected faults.
import type { Test } from 'tap'
import { freePort } from '../../../test/support/ports.ts'
import type { RunningAgent, TestCluster } from '../../../test/support/test-cluster.ts'
import { type Certificate, openTarget } from './places.ts'

export interface Edge {
  readonly cluster: TestCluster
  readonly paris: RunningAgent
  readonly t: Test
  readonly tokens: Readonly<Record<string, string>> // of users, by their ids
  readonly tls: Certificate // for other.example
}

export interface Fault {
  readonly name: string
  /** Makes the fault; returns the question. */
  seed(edge: Edge): Promise<Question>
  readonly says: string // outcome, then the reason
  readonly target?: object // expected properties of the first target
  readonly step?: { readonly reason: string | null; readonly kind?: string; readonly text?: RegExp } // one of the steps
}

export interface Question {
  readonly port: number
  readonly as?: string
  readonly [more: string]: unknown
}

export const at = (port: number, host = '127.0.0.1') => ({ host, port })
export const serveHello = (socket: { write(text: string): unknown }): void => void socket.write('hello')

/** Creates a rule on a free port; returns the port. */
export async function push(
  { cluster }: Edge,
  body: object,
  bearer?: string
): Promise<{ port: number; id: string }> {
  const port = await freePort()
  const { rule_id } = await cluster.call<{ rule_id: string }>(
    'POST',
    '/v1/rules',
    { client: 'paris', listen_port: port, ...body },
    bearer
  )
  return { port, id: rule_id }
}

/** A rule to a target that greets. */
export async function good(edge: Edge, more: object = {}): Promise<{ port: number; id: string }> {
  return push(edge, { targets: [at(await openTarget(edge.t, serveHello))], ...more })
}

export const probed = (port: number, more: object = {}): Question => ({ port, probe: true, ...more })

export const toName = (host: string) => async (edge: Edge) =>
  probed((await push(edge, { targets: [at(80, host)] })).port)

export const toPort =
  (open: (edge: Edge) => Promise<number>, more: object = {}, question: object = {}) =>
  async (edge: Edge): Promise<Question> =>
    probed((await push(edge, { targets: [at(await open(edge))], ...more })).port, question)
