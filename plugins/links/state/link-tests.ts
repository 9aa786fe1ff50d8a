// Tests of links by the agent of the near client.
import type { Static } from 'typebox'
import { Fault, rateLimited } from '../../../kernel/base/errors.ts'
import type { Call } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { Refused } from '../../../kernel/wire/message.ts'
import { clientNotConnected } from '../../rules/exports.ts'
import { linkNotFound } from '../codes.ts'
import { LinkRow } from '../entities.ts'
import type { TestBody, TestResult } from '../schema.ts'
import { capability, downReasons, LinkTest } from '../wire.ts'

const defaults = { bytes: 4 * 1024 * 1024, secs: 5 }
const graceMs = 5_000 // for the handshake and the answer

export interface LinkTests {
  /** Measures the link. Throws `link_not_found`, `client_not_connected`, or `rate_limited` while another test runs. */
  run(id: string, body: TestBody, call: Pick<Call, 'change'>): Promise<TestResult>
}

export function openLinkTests({ control }: Pick<Kernel, 'control'>): LinkTests {
  const running = new Set<string>() // ids of links

  return {
    async run(id, body, { change }) {
      const { bytes, secs } = { ...defaults, ...body }
      const nearId = await change({ kind: 'link', id }, async em => {
        const link = await em.findOne(LinkRow, { id })
        if (!link) throw new Fault(linkNotFound, 'no link has this link_id')
        if (!control.peers.find(link.nearId)?.can(capability)) refuseOffline(link.nearId)
        if (running.has(id)) throw new Fault(rateLimited, 'a test of this link runs; wait until it ends')
        return link.nearId
      })
      if (running.has(id)) throw new Fault(rateLimited, 'a test of this link runs; wait until it ends')
      running.add(id)
      try {
        const peer = control.peers.find(nearId) ?? refuseOffline(nearId)
        const deadlineMs = secs * 1000 + graceMs
        return toResult(await peer.request(LinkTest, { id, bytes, secs }, { deadlineMs }))
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        if (error.code === 'wire.closed') refuseOffline(nearId, error)
        return toResult({ error: error.code === 'wire.deadline' ? 'timeout' : error.code })
      } finally {
        running.delete(id)
      }
    }
  }
}

function refuseOffline(clientId: string, cause?: unknown): never {
  throw new Fault(clientNotConnected, `client ${clientId} is not connected, or its agent has no links`, {
    cause,
    details: { client_id: clientId }
  })
}

type Measured = Static<typeof LinkTest.response.body>

function toResult({ rtt_ms, handshake_ms, up_bps, down_bps, error }: Measured): TestResult {
  return {
    rtt_ms: rtt_ms ?? null,
    handshake_ms: handshake_ms ?? null,
    up_bps: up_bps ?? null,
    down_bps: down_bps ?? null,
    udp: 'off',
    error: error === undefined ? null : downReasons.some(known => known === error) ? error : 'unreachable'
  }
}
