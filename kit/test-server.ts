import { chmodSync } from 'node:fs'
import { asValue } from 'awilix'
import { plugins as builtin } from '../config/plugins.ts'
import { boot, type Server, type ServerOptions } from '../kernel/kernel.ts'
import { definePlugin, type Plugin } from '../kernel/plugin.ts'
import { afterCommit } from '../kernel/store/after-commit.ts'
import type { Database } from '../kernel/store/open.ts'
import { type Decision, requiredDecisionSlot } from '../plugins/http/exports.ts'
import { type FakeClock, fakeClock } from './fake-clock.ts'
import { type LogLine, recordLog } from './record-log.ts'
import type { Teardown } from './scripted-agent.ts'
import { openFromTemplate } from './store-template.ts'
import { operatorToken } from './test-identities.ts'
import { openTestStore, tellingWork } from './test-store.ts'

export { type LogLine, recordLog } from './record-log.ts'
export { insertClient, operatorToken } from './test-identities.ts'

export interface Reply<B> {
  readonly status: number
  readonly body: B // parsed; undefined if the reply is not JSON
  readonly text: string // the raw body
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>
}

export interface TestServer {
  readonly server: Server // the current one; a restart replaces it
  readonly clock: FakeClock
  readonly decisions: Decision[]
  readonly log: LogLine[]
  readonly dir: string
  /**
   * Sends one request, as `_operator` unless `headers` has another authorization; '' sends none. `remoteAddress` is the
   * caller's address; default: 127.0.0.1.
   */
  call<B = Record<string, never>>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD',
    url: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
    connection?: { readonly remoteAddress?: string }
  ): Promise<Reply<B>>
  stop(): Promise<void>
  /** Stops the server if it runs, and starts it again on the same data directory, clock and control port. */
  restart(changed?: Pick<TestServerOptions, 'plugins'>): Promise<void>
}

export interface TestServerOptions {
  /** Names of built-in plugins, or manifests; control, what it needs, and http are always included. Default: all built-in plugins. */
  readonly plugins?: readonly (string | Plugin)[]
  readonly keys?: Readonly<Record<string, unknown>> // top level of the configuration
  readonly sections?: Readonly<Record<string, unknown>> // of the configuration, by plugin
  readonly services?: Readonly<Record<string, unknown>> // instead of those that plugins register under these names
  /** URL of a PostgreSQL 15 or newer, `postgres://USER@HOST:PORT`: the store is a new database there, which the test deletes. */
  readonly postgres?: string
  readonly dir?: string
  readonly clock?: FakeClock
  readonly wrapStore?: ServerOptions['wrapStore']
}

/** Throws if a route gave an error that the OpenAPI document does not list for it. */
function refuseUndeclared(log: readonly LogLine[]): void {
  const found = log.flatMap(({ event, fields: { action, code } }) =>
    event === 'route.undeclared_error' ? [`${action}: ${code}`] : []
  )
  if (found.length > 0)
    throw new TypeError(`routes gave errors that the \`errors\` of their schemas lack: ${found.join(', ')}`)
}

/** Starts a server in this process, with a real store, real sockets on free ports and a fake clock. */
export async function testServer(
  t: Teardown & { testdir(): string },
  options: TestServerOptions = {}
): Promise<TestServer> {
  const { dir = t.testdir(), clock = fakeClock(), keys = {}, sections = {}, wrapStore = same } = options
  const { plugins: named = Object.keys(builtin), services = {}, postgres } = options
  const decisions: Decision[] = []
  const log: LogLine[] = []
  chmodSync(dir, 0o700) // as a data directory requires, whatever the umask
  const store = await openTestStore(dir, postgres === undefined ? 'template' : 'empty', postgres)
  const pluginsOf = async (chosen: readonly (string | Plugin)[]): Promise<Plugin[]> => [
    ...withServices(await load(new Set(['certificate', 'servers', 'control', 'http', ...chosen])), services),
    decisionRecorder(decisions)
  ]
  let plugins = await pluginsOf(named)
  const open = (ownKeys: object) =>
    boot({
      plugins,
      keys: {
        operator_http_listen: '127.0.0.1:0',
        control_listen: '127.0.0.1:0',
        ...(named.includes('metrics') && { metrics_listen: '127.0.0.1:0' }),
        operator_token: operatorToken,
        ...(store && { store_url: store.place.url }),
        ...keys,
        ...ownKeys
      },
      sections,
      dataDir: dir,
      version: '2.0.0',
      log: recordLog(log),
      clock,
      openStore: openFromTemplate,
      wrapStore: opened => wrapStore(tellingWork(opened, store !== null))
    })
  const running = await startServer(open, () => refuseUndeclared(log))
  t.teardown(() => running.stop().finally(store?.drop))

  return {
    get server() {
      return running.server
    },
    clock,
    decisions,
    log,
    dir,
    call: callOf(() => running.server),
    stop: running.stop,
    async restart(changed = {}) {
      if (changed.plugins) plugins = await pluginsOf(changed.plugins)
      await running.restart()
    }
  }
}

/** Replaces services of plugins, for them and for the plugins that get them. */
function withServices(plugins: readonly Plugin[], replaced: Readonly<Record<string, unknown>>): Plugin[] {
  const registered = new Set(
    plugins.flatMap(({ services, exports }) => Object.keys({ ...services, ...exports }))
  )
  const unknown = Object.keys(replaced).find(name => !registered.has(name))
  if (unknown !== undefined) throw new TypeError(`no plugin has a service ${unknown}`)
  const replacedIn = (services: Plugin['services'] = {}) =>
    Object.fromEntries(
      Object.entries(services).map(([name, own]) => [name, name in replaced ? asValue(replaced[name]) : own])
    )
  const has = ({ services, exports }: Plugin): boolean =>
    Object.keys(replaced).some(name => name in { ...services, ...exports })
  return plugins.map(plugin =>
    has(plugin)
      ? { ...plugin, services: replacedIn(plugin.services), exports: replacedIn(plugin.exports) }
      : plugin
  )
}

/** Starts a server that can be stopped and started again. Calls `onStopped` after each stop. */
async function startServer(
  open: (keys: object) => Promise<Server>,
  onStopped: () => void
): Promise<Pick<TestServer, 'server' | 'stop' | 'restart'>> {
  let server = await open({})
  let isStopped = false
  async function stop(): Promise<void> {
    if (isStopped) return
    isStopped = true
    await server.stop()
    onStopped()
  }
  return {
    get server() {
      return server
    },
    stop,
    async restart() {
      const control_listen = `127.0.0.1:${server.control.port()}` // the port that agents know
      await stop()
      server = await open({ control_listen })
      isStopped = false
    }
  }
}

const same = (opened: Database): Database => opened

const callOf =
  (server: () => Server): TestServer['call'] =>
  async (method, url, payload, headers = {}, connection = {}) => {
    const { authorization = `Bearer ${operatorToken}`, ...rest } = headers
    const reply = await server().http.app.inject({
      method,
      url,
      headers: { ...(authorization !== '' && { authorization }), ...rest },
      ...connection,
      ...(payload !== undefined && { payload: payload as object })
    })
    const { statusCode: status, body: text } = reply
    const isJson = /^application\/(.*\+)?json\b/.test(String(reply.headers['content-type']))
    const body = isJson && text !== '' ? JSON.parse(text) : undefined
    return { status, body, text, headers: reply.headers }
  }

const load = (plugins: ReadonlySet<string | Plugin>): Promise<Plugin[]> =>
  Promise.all(
    [...plugins].map(async plugin => {
      if (typeof plugin !== 'string') return plugin
      const importBuiltin = builtin[plugin]
      if (!importBuiltin) throw new TypeError(`${plugin} is not built in`)
      return (await importBuiltin()).default
    })
  )

/** Returns a plugin that adds all decisions to a list. */
export const decisionRecorder = (decisions: Decision[]): Plugin =>
  definePlugin({
    name: 'decision-recorder',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { http: '^1.0.0' },
    fills: [
      requiredDecisionSlot.fill({
        async write(decision, em) {
          afterCommit(em, () => decisions.push(decision))
        },
        async complete(id, status, reason, em) {
          afterCommit(em, () => {
            const at = decisions.findIndex(decision => decision.id === id)
            const found = decisions[at]
            if (found) decisions[at] = { ...found, status, reason }
          })
        }
      })
    ]
  })
