// The link keys of clients. Agents make them and report their pins; the server tells each neighbor, and says when the next
// key may come into use.
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import { Fault } from '../../kernel/base/errors.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Call } from '../../kernel/http/route.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { Clients } from '../clients/exports.ts'
import { clientNotConnected } from '../rules/exports.ts'
import { LinkEndpoint, LinkKey } from './entities.ts'
import type { keys } from './settings.ts'
import { capability, type KeyReport, KeyRotate, KeySwitch, linkKind } from './wire.ts'

type Report = Static<typeof KeyReport.body>
type Reported = Static<typeof KeyReport.response.body>

export interface LinkKeys {
  /** Stores the pins of an agent and sends them to its neighbors. Throws Refused for a pin of another client. */
  receive(peer: Peer, report: Report): Promise<Reported>
  /** Makes the agent generate its next key. Throws `client_not_found` or `client_not_connected`. */
  rotate(clientId: string, call: Pick<Call, 'change'>): Promise<void>
  /** Called when a neighbor of the client has acknowledged a link: perhaps the client may switch to its next key. */
  acknowledged(clientId: string, em: EntityManager): Promise<void>
  /** Lets clients switch if their neighbors know the next key, in case they missed it. */
  switchDue(): Promise<void>
}

interface Services extends Kernel<typeof keys> {
  readonly clients: Pick<Clients, 'get'>
  /** Sends the links of a client again, to the client and to its neighbors. */
  readonly resendLinks: (clientId: string, em: EntityManager) => Promise<void>
}

export function openLinkKeys(services: Services): LinkKeys {
  const { config, store, control, clients } = services

  async function receive(peer: Peer, { pin, next_pin }: Report): Promise<Reported> {
    const { clientId, remoteAddr } = peer
    const nextPin = next_pin ?? null
    if (pin === nextPin)
      throw new Refused('link_key_invalid', 'the next key must differ from the present one')
    const given = { clientId, pin, nextPin, remoteAddr }
    const known = await store.read(em => em.findOne(LinkKey, { clientId }))
    if (!known || !isSame(known, given)) await peer.change(em => storeKey(services, given, em))
    const isKnown = nextPin !== null && (await store.read(em => neighborsKnow(services, clientId, em)))
    return { neighbors_know_next: isKnown, key_days: config.link_key_days }
  }

  async function rotate(clientId: string, { change }: Pick<Call, 'change'>): Promise<void> {
    const findCapable = (): Peer => {
      const peer = control.peers.find(clientId)
      return peer?.can(capability) ? peer : refuseOffline(clientId)
    }
    await change({ kind: 'client', id: clientId }, async em => {
      await clients.get(clientId, em)
      findCapable()
    })
    await findCapable()
      .request(KeyRotate, {})
      .catch(error => {
        if (error instanceof Refused) refuseOffline(clientId, error)
        throw error
      })
  }

  return {
    receive,
    rotate,
    async acknowledged(clientId, em) {
      const nextPin = (await em.findOne(LinkKey, { clientId }))?.nextPin ?? null
      if (nextPin !== null && (await neighborsKnow(services, clientId, em)))
        afterCommit(em, () => sendSwitch(services, clientId, nextPin))
    },
    async switchDue() {
      const due = await store.read(async em => {
        const waiting = await em.find(LinkKey, { nextPin: { $ne: null } })
        const found: LinkKey[] = []
        for (const key of waiting)
          if (control.peers.find(key.clientId) && (await neighborsKnow(services, key.clientId, em)))
            found.push(key)
        return found
      })
      for (const { clientId, nextPin } of due) if (nextPin != null) sendSwitch(services, clientId, nextPin)
    }
  }
}

/** True if all connected neighbors have acknowledged the links of the client as they are. */
async function neighborsKnow({ control }: Services, clientId: string, em: EntityManager): Promise<boolean> {
  const waiting = await em.execute<{ neighbor: string }[]>(
    `select far_id as neighbor from links
     join kernel_managed_object object on object.client_id = far_id and object.kind = ? and object.id = links.id
     where near_id = ? and object.removal is null and object.revision <> far_revision
     union select near_id as neighbor from links
     join kernel_managed_object object on object.client_id = near_id and object.kind = ? and object.id = links.id
     where far_id = ? and object.removal is null and object.revision <> near_revision`,
    [linkKind, clientId, linkKind, clientId]
  )
  return !waiting.some(({ neighbor }) => control.peers.find(neighbor)?.can(capability))
}

function sendSwitch({ control, log }: Services, clientId: string, next_pin: string): void {
  const peer = control.peers.find(clientId)
  if (!peer?.can(capability)) return // it asks at its next connection
  peer.request(KeySwitch, { next_pin }).catch(error => {
    log.warn('link.switch_failed', 'the agent did not switch to its next link key; it is asked again', {
      client: clientId,
      error: String(error)
    })
  })
}

function refuseOffline(clientId: string, cause?: unknown): never {
  throw new Fault(clientNotConnected, `client ${clientId} is not connected, or its agent has no links`, {
    cause,
    details: { client_id: clientId }
  })
}

type Given = Pick<LinkKey, 'clientId' | 'pin' | 'remoteAddr'> & { readonly nextPin: string | null }

const hasSamePins = (known: LinkKey, { pin, nextPin }: Given): boolean =>
  known.pin === pin && (known.nextPin ?? null) === nextPin

const isSame = (known: LinkKey, given: Given): boolean =>
  hasSamePins(known, given) && known.remoteAddr === given.remoteAddr

async function storeKey({ clock, log, resendLinks }: Services, given: Given, em: EntityManager) {
  const { clientId, pin, nextPin } = given
  await requireOwnPins(given, em)
  const known = await em.findOne(LinkKey, { clientId })
  const isRotated = known !== null && known.pin !== pin
  const changedAt = known && !isRotated ? known.changedAt : clock.now()
  await em.upsert(LinkKey, { ...given, changedAt })
  if (isRotated)
    afterCommit(em, () =>
      log.info('link.key_rotated', 'the client has a new link key', { client: clientId, fingerprint: pin })
    )
  const isNew = !known || !hasSamePins(known, { ...given, nextPin })
  if (isNew || (await isDialedWhereSeen(clientId, em))) await resendLinks(clientId, em)
}

async function requireOwnPins({ clientId, pin, nextPin }: Given, em: EntityManager): Promise<void> {
  const pins = { $in: [pin, ...(nextPin === null ? [] : [nextPin])] }
  const others = { clientId: { $ne: clientId }, $or: [{ pin: pins }, { nextPin: pins }] }
  if ((await em.count(LinkKey, others)) > 0)
    throw new Refused(
      'link_pin_taken',
      'another client has this link key: copy no state directory between hosts; delete link.pem to make a new key'
    )
}

/** True if neighbors dial the client at the address that the server sees. */
async function isDialedWhereSeen(clientId: string, em: EntityManager): Promise<boolean> {
  const endpoint = await em.findOne(LinkEndpoint, { clientId })
  if (!endpoint || endpoint.hosts != null) return false
  const client = await em.findOne(Client, { id: clientId })
  return client?.address == null
}
