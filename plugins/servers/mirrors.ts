// Live state of agents that no table has, published to peers every 2 s if it has changed.
import type { Mirrored, Servers } from '../../kernel/control/servers.ts'
import { shared } from '../../kernel/store/postgres/dialect.ts'
import type { Signals } from '../../kernel/store/sql/database.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import type { ClusterOptions } from './cluster.ts'
import type { ServerRegistry } from './server-registry.ts'

interface Options extends Pick<ClusterOptions, 'local'> {
  readonly signals: Signals
  readonly registry: ServerRegistry
}

/** One value: what a plugin knows about a client. */
interface MirrorKey {
  readonly clientId: string
  readonly key: string
}

interface Row extends MirrorKey {
  readonly boot: string
  readonly value: string // JSON
}

export class Mirrors {
  readonly #options: Options
  readonly #mirrored = new Map<string, Mirrored<unknown>>()
  readonly #changed = new Map<string, MirrorKey>()
  #joins = 0 // of the registry, when everything was last published
  #seen = 0 // changes below this number have been read

  constructor(options: Options) {
    this.#options = options
  }

  readonly mirror: Servers['mirror'] = mirrored => {
    const { key } = mirrored
    this.#mirrored.set(key, mirrored as Mirrored<unknown>) // its plugin knows the type of its JSON values
    return clientId => {
      if (!this.#options.registry.isAlone()) this.#mark({ clientId, key })
    }
  }

  #mark(entry: MirrorKey): void {
    this.#changed.set(`${entry.key} ${entry.clientId}`, entry)
  }

  /** Publishes changed values; all of them if a peer has joined. After an error the next call publishes them again. */
  async publish(): Promise<void> {
    const { registry, local } = this.#options
    if (this.#joins !== registry.joins)
      for (const { clientId } of local.all())
        for (const key of this.#mirrored.keys()) this.#mark({ clientId, key })
    this.#joins = registry.joins
    const changed = [...this.#changed.values()].filter(({ clientId }) => local.find(clientId))
    this.#changed.clear() // later changes are published again
    try {
      for (const some of rowBatches(changed, 4)) await this.#put(some)
    } catch (error) {
      for (const one of changed) this.#mark(one)
      throw error
    }
  }

  async #put(some: readonly MirrorKey[]): Promise<void> {
    const { registry, signals } = this.#options
    await signals.query(
      `insert into servers_mirror (client_id, key, boot, value, changed)
       values ${some.map(() => `(?, ?, ?, ?, ${shared.changeNumber})`).join(', ')}
       on conflict (client_id, key) do update set boot = excluded.boot, value = excluded.value, changed = excluded.changed`,
      some.flatMap(({ clientId, key }) => [
        clientId,
        key,
        registry.key,
        JSON.stringify(this.#mirrored.get(key)?.value(clientId) ?? null)
      ])
    )
  }

  /** Published values may be lost, and the change numbers start over. */
  readonly restored = (): void => {
    this.#joins = -1
    this.#seen = 0
  }

  async poll(): Promise<void> {
    const { registry, signals, local } = this.#options
    const rows = await signals.query<Row & { readonly next: number; readonly clientId: string | null }>(
      `with base as (select ${shared.oldest} as next)
       select base.next, mirror.client_id as "clientId", mirror.key, mirror.boot, mirror.value
       from base left join servers_mirror mirror on mirror.changed >= ? and mirror.boot <> ?`,
      [this.#seen, registry.key]
    )
    for (const { clientId, key, boot, value } of rows)
      if (clientId !== null && registry.isLive(boot) && !local.find(clientId))
        this.#mirrored.get(key)?.heard(clientId, JSON.parse(value) ?? undefined)
    this.#seen = rows[0]?.next ?? this.#seen
  }

  /** Call it when the remote session of the client has ended. */
  readonly forget = (clientId: string): void => {
    for (const { heard } of this.#mirrored.values()) heard(clientId, undefined)
  }

  readonly tidy = (): Promise<unknown> =>
    this.#options.signals.query(
      'delete from servers_mirror where not exists (select 1 from kernel_client client where client.id = client_id)'
    )
}
