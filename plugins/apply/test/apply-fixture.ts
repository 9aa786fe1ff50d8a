// A server with one client, and the functions of `apply` without a process for each command.
import type { Test } from 'tap'
import { plugins as builtin } from '../../../config/plugins.ts'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Api } from '../../../kernel/cli/command.ts'
import { inDependencyOrder } from '../../../kernel/dependency-order.ts'
import type { Plugin } from '../../../kernel/plugin.ts'
import { kernelCodes } from '../../../kernel/plugin-problems.ts'
import type { SlotReader } from '../../../kernel/slot.ts'
import { type KitServer, testAgent, testServer } from '../../../kit/public.ts'
import { filledBare } from '../../cli/program/installed-commands.ts'
import { capability as rateLimit } from '../../rate-limit/wire.ts'
import type { DocumentContext } from '../../rules/command-exports.ts'
import type { Document } from '../document.ts'
import { listKinds, openDocumentContext } from '../document-context.ts'
import { makePlan } from '../plan.ts'

export async function exportOf(context: DocumentContext): Promise<Document> {
  const lists = listKinds(context).map(
    async kind => [kind.name, (await kind.list(context)).map(item => kind.format(item, context))] as const
  )
  return Object.fromEntries(await Promise.all(lists))
}

export async function applyFixture(t: Test, plugins: readonly Plugin[] = [], capabilities: object = {}) {
  const app = await testServer(t, { plugins })
  const { clientId } = await testAgent(t, app, 'paris', {
    version: '2.0.0',
    capabilities: {
      [rateLimit.id]: '2.0.0',
      'rule.sni': '2.0.0',
      'rule.target-filter': '2.0.0',
      'traffic.quota': '2.0.0',
      ...capabilities
    }
  })
  const context = await openDocumentContext({ api: apiOf(app), filled })
  const plan = async (file: Document, prune: 'prune' | 'keep' = 'keep') =>
    (await makePlan(file, prune, context)).steps
  return {
    app,
    clientId,
    context,
    plan,
    async run(file: Document, prune: 'prune' | 'keep' = 'keep') {
      for (const step of await plan(file, prune)) await step.run()
    }
  }
}

const manifests = inDependencyOrder(
  await Promise.all(Object.values(builtin).map(async load => (await load()).default))
)

const exits = new Map(
  [...kernelCodes, ...manifests.flatMap(({ codes = [] }) => codes)].map(({ code, exit }) => [code, exit])
)

export const filled: SlotReader = slot => filledBare(slot, manifests)

/** Returns an API client like that of the command line, without the network. */
export function apiOf({ call }: Pick<KitServer, 'call'>): Api {
  const request = async <T>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object
  ) => {
    const reply = await call<
      T & { error: { code: string; message: string; details?: Record<string, unknown> } }
    >(method, path, body)
    if (reply.status < 300) return reply.body as T
    const { code, message, details } = reply.body.error
    throw new Fault({ code, http: reply.status, exit: exits.get(code) ?? 1 }, message, details && { details })
  }
  async function list<T>(path: string): Promise<T[]> {
    const { body, headers } = await call<T[]>('GET', path)
    const next = /<([^>]+)>; rel="next"/.exec(String(headers['link'] ?? ''))?.[1]
    return next === undefined ? body : [...body, ...(await list<T>(next))]
  }
  const notUsed = () => Promise.reject(new Error('documents do not call operations'))
  return {
    get: path => request('GET', path),
    list,
    send: request,
    call: notUsed,
    rows: notUsed,
    refusal: notUsed,
    origin: '',
    events: () => {
      throw new TypeError('documents have no events')
    }
  }
}
