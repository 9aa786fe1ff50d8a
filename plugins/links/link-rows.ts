// Rows of links and their objects on agents. While rules need a link, both of its clients have its object.
import type { EntityManager } from '@mikro-orm/sql'
import type { ObjectKey } from '../../kernel/control/managed-objects.ts'
import type { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { recordFieldSlots, recordFields } from '../http/exports.ts'
import { LinkEndpoint, LinkKey, LinkRow, LinkUse } from './entities.ts'
import { objectKeysOf } from './link-object.ts'
import { findLinks, linksOf, neededIds, onClients } from './link-queries.ts'
import type { LinkNotice } from './state/link-notice.ts'
import type { LinkReports } from './state/link-reports.ts'
import type { LinkStates } from './state/link-states.ts'

/** The settings of a new row. A row with others stays when no rule needs it. */
export const defaultSettings = { direction: 'auto', hosts: null, udpWanted: true, note: null } as const

type Party = Pick<Client, 'id'>

export interface LinkRows {
  /** Sends links to both of their clients. */
  put(links: readonly LinkRow[], em: EntityManager): Promise<void>
  /** Sends links again, except those that no rule needs. */
  send(links: readonly LinkRow[], em: EntityManager): Promise<void>
  /** Sends the links of a client again, to the client and to its neighbors. */
  resend(clientId: string, em: EntityManager): Promise<void>
  /** Sends all links again. */
  resendAll(em: EntityManager): Promise<void>
  /** Takes links that no rule needs from their clients. Deletes the rows that have only default settings. */
  release(linkIds: readonly string[], em: EntityManager): Promise<void>
  /** Removes all links of a client, and what is stored about it. */
  clientRemoved(client: Party, em: EntityManager): Promise<void>
  /** Cuts all links of a client. They come back when its agent reports a key again. */
  clientRevoked(client: Party, em: EntityManager): Promise<void>
}

type Services = Pick<Kernel, 'control' | 'filled'> & {
  readonly linkStates: Pick<LinkStates, 'judge'>
  readonly linkReports: Pick<LinkReports, 'forget'>
  readonly linkNotice: Pick<LinkNotice, 'forget'>
}

export function openLinkRows(services: Services): LinkRows {
  const { linkStates } = services

  async function put(links: readonly LinkRow[], em: EntityManager): Promise<void> {
    if (links.length === 0) return
    const keys = links.flatMap(objectKeysOf)
    await services.control.objects.put(em, ...keys)
    wake(services, keys, em)
    afterCommit(em, () => linkStates.judge(links.map(({ id }) => id)))
  }

  async function send(links: readonly LinkRow[], em: EntityManager): Promise<void> {
    const needed = await neededIds(links, em)
    await put(
      links.filter(({ id }) => needed.has(id)),
      em
    )
  }

  return {
    put,
    send,
    resend: async (clientId, em) => send(await linksOf(clientId, em), em),
    resendAll: async em => send(await em.find(LinkRow, {}), em),
    async release(linkIds, em) {
      const links = await findLinks(linkIds, em)
      const needed = await neededIds(links, em)
      const unneeded = links.filter(({ id }) => !needed.has(id))
      await drop(services, unneeded.flatMap(objectKeysOf), 'drain', em)
      await deleteRows(services, await withDefaults(services, unneeded, em), em)
      afterCommit(em, () => linkStates.judge(unneeded.map(({ id }) => id)))
    },
    async clientRemoved({ id: clientId }, em) {
      const links = await linksOf(clientId, em)
      const keys = links.flatMap(objectKeysOf)
      await drop(
        services,
        keys.filter(key => key.clientId !== clientId),
        'cut',
        em
      )
      await deleteRows(services, links, em)
      await em.nativeDelete(LinkKey, { clientId })
      await em.nativeDelete(LinkEndpoint, { clientId })
    },
    async clientRevoked({ id: clientId }, em) {
      await em.nativeDelete(LinkKey, { clientId })
      const links = await linksOf(clientId, em)
      await drop(services, links.flatMap(objectKeysOf), 'cut', em)
      afterCommit(em, () => linkStates.judge(links.map(({ id }) => id)))
    }
  }
}

const wake = ({ control }: Services, keys: readonly ObjectKey[], em: EntityManager): void =>
  afterCommit(em, () => {
    for (const clientId of new Set(keys.map(key => key.clientId))) control.objects.wake(clientId)
  })

async function drop(
  services: Services,
  given: readonly ObjectKey[],
  removal: 'drain' | 'cut',
  em: EntityManager
): Promise<void> {
  const keys = await onClients(given, em)
  if (keys.length === 0) return
  await services.control.objects.drop(em, keys, removal)
  wake(services, keys, em)
}

async function deleteRows(services: Services, links: readonly LinkRow[], em: EntityManager): Promise<void> {
  if (links.length === 0) return
  const ids = links.map(({ id }) => id)
  for (const some of rowBatches(ids)) {
    await em.nativeDelete(LinkUse, { linkId: { $in: [...some] } })
    await em.nativeDelete(LinkRow, { id: { $in: [...some] } })
  }
  await recordFields.remove(services.filled(recordFieldSlots.link), ids, em)
  await services.linkNotice.forget(ids, em)
  afterCommit(em, () => services.linkReports.forget(links))
}

/** Returns the links with default settings, also in fields of other plugins such as labels. */
async function withDefaults(
  { filled }: Services,
  links: readonly LinkRow[],
  em: EntityManager
): Promise<LinkRow[]> {
  const given = new Set<string>()
  for (const { value: field } of filled(recordFieldSlots.link)) {
    const values = await field.load(
      links.map(({ id }) => id),
      em
    )
    for (const [id, value] of values)
      if (JSON.stringify(value) !== JSON.stringify(field.absent)) given.add(id)
  }
  return links.filter(
    ({ id, direction, hosts, udpWanted, note }) =>
      direction === defaultSettings.direction &&
      hosts == null &&
      udpWanted === defaultSettings.udpWanted &&
      note == null &&
      !given.has(id)
  )
}
