import { type Static, Type } from 'typebox'
import type { ControlOptions } from '../../kernel/control/host.ts'
import { Listen } from '../../kernel/settings.ts'
import * as certificates from '../certificate/exports.ts'
import * as servers from '../servers/exports.ts'

export const keys = Type.Object({
  control_listen: Listen('[::]:7443', 'Address of the control stream; falls back to 0.0.0.0 without IPv6.')
})

/** Reads the configuration of this plugin and of those that it needs. The kernel has validated it. */
export function settingsIn(configOf: ControlOptions['configOf']) {
  const { control_listen: listen } = configOf('control') as Static<typeof keys>
  const certificateConfig = configOf('certificate') as Static<typeof certificates.keys>
  const endpoints = certificates.endpointsIn(certificateConfig.advertised_endpoint ?? [])
  return {
    listen,
    serverId: servers.serverIdIn(configOf('servers') as Static<typeof servers.keys>),
    endpoint: endpoints.join(',') || null,
    certificate: certificates.settingsIn(certificateConfig)
  }
}
