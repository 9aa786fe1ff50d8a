import { asFunction } from 'awilix'
import { hostSlot } from '../../kernel/http/host.ts'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { type Act, openAct } from './change/act-without-request.ts'
import { type ChangeEach, openChangeEach } from './change/change-each.ts'
import { decisionSlot, openRecorder, type Recorder, requiredDecisionSlot } from './change/decision.ts'
import { expirySlot } from './change/notice-kind-slot.ts'
import { openRecordAs, type RecordAs } from './change/record-as.ts'
import { type NameRecords, openNameRecords, recordNamesSlot } from './change/record-names.ts'
import * as codes from './codes.ts'
import { IdempotencyRecord } from './entities.ts'
import { Http0001 } from './migrations/0001-repeat.ts'
import { type MountedPlugins, openMountedPlugins } from './mounted-plugins.ts'
import { documentRoute } from './openapi/document-route.ts'
import { siteSlot } from './pages/site-slot.ts'
import { type HttpMetrics, openHttpMetrics } from './pipeline/http-metrics.ts'
import { type FindTracer, openFindTracer, tracerSlot } from './pipeline/tracer-slot.ts'
import { type HostCheck, openHostCheck } from './server/host-check.ts'
import {
  certificateExpiry,
  openServedCertificate,
  type ServedCertificate
} from './server/served-certificate.ts'
import { keys, openPublicOrigin, openTls, type PublicOrigin, settingsOf } from './settings.ts'

interface Deps extends Kernel<typeof keys> {
  readonly servedCertificate: ServedCertificate
  readonly httpMetrics: HttpMetrics
  readonly recorder: Recorder
  readonly nameRecords: NameRecords
  readonly act: Act
  readonly recordAs: RecordAs
  readonly publicOrigin: PublicOrigin
  readonly changeEach: ChangeEach
  readonly isKnownHost: HostCheck
  readonly mountedPlugins: MountedPlugins
  readonly findTracer: FindTracer
}

export default definePlugin<Deps>({
  name: 'http',
  version: '1.0.0',
  description: 'This document.',
  kernel: '^2.0.0',
  keys,
  checkConfig: openTls,
  codes: Object.values(codes),
  store: { entities: [IdempotencyRecord], migrations: [{ name: '0001-repeat', class: Http0001 }] },
  services: {
    servedCertificate: asFunction(() => openServedCertificate()).singleton(),
    httpMetrics: asFunction(openHttpMetrics).singleton(),
    recorder: asFunction(openRecorder).singleton(),
    nameRecords: asFunction(openNameRecords).singleton()
  },
  exports: {
    isKnownHost: asFunction(({ config }: Deps) => openHostCheck(config)).singleton(),
    act: asFunction(openAct).singleton(),
    recordAs: asFunction(openRecordAs).singleton(),
    publicOrigin: asFunction(openPublicOrigin).singleton(),
    changeEach: asFunction(openChangeEach).singleton(),
    mountedPlugins: asFunction(() => openMountedPlugins()).singleton(),
    findTracer: asFunction(openFindTracer).singleton()
  },
  slots: [decisionSlot, requiredDecisionSlot, recordNamesSlot, siteSlot, tracerSlot],
  fills: [
    hostSlot.fillWith((deps: Deps) => async options => {
      const { openHttp } = await import('./http.ts') // commands also load this file, and do not need Fastify
      const { config, httpMetrics, recorder, nameRecords, mountedPlugins, servedCertificate, filled } = deps
      const site = () => filled(siteSlot)[0]?.value
      const services = { httpMetrics, recorder, nameRecords, mountedPlugins, servedCertificate, site }
      return openHttp({ ...options, ...settingsOf(config), ...services, findTracer: deps.findTracer })
    }),
    expirySlot.fillWith(({ servedCertificate }: Deps) => certificateExpiry(servedCertificate)),
    metricsSlot.fillWith(({ httpMetrics }: Deps) => httpMetrics.collect)
  ],
  routes: [documentRoute]
})
