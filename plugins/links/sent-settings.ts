import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../kernel/plugin.ts'
import { SentSettings } from './entities.ts'
import type { LinkRows } from './link-rows.ts'
import type { keys } from './settings.ts'

const id = 'agents'

type Services = Pick<Kernel<typeof keys>, 'config'> & { readonly linkRows: Pick<LinkRows, 'resendAll'> }

/** Sends all links again if the configuration has other settings for agents than at the last start. */
export async function sendNewSettings({ config, linkRows }: Services, em: EntityManager): Promise<void> {
  const { link_max_idle: maxIdle, link_dead_secs: deadSecs, link_lease_hours: leaseHours } = config
  const sent = await em.findOne(SentSettings, { id })
  if (sent?.maxIdle === maxIdle && sent.deadSecs === deadSecs && sent.leaseHours === leaseHours) return
  await em.upsert(SentSettings, { id, maxIdle, deadSecs, leaseHours })
  await linkRows.resendAll(em)
}
