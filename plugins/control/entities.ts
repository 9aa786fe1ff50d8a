import { defineEntity, p } from '@mikro-orm/core'

/** See client-generations.ts. */
export const ClientGeneration = defineEntity({
  name: 'ClientGeneration',
  tableName: 'control_generation',
  properties: { clientId: p.string().length(26).primary(), salt: p.string().length(32) }
})

/** The next certificate that an agent trusts. Valid only while the client has the same token. */
export const NextPinRow = defineEntity({
  name: 'NextPinRow',
  tableName: 'control_next_pin',
  properties: {
    clientId: p.string().length(26).primary(),
    fingerprint: p.string().length(64),
    tokenHash: p.string().length(64)
  }
})

/** See shared-certificate.ts. */
export const CertificateRow = defineEntity({
  name: 'CertificateRow',
  tableName: 'control_certificate',
  properties: {
    name: p.string().length(4).primary(),
    certificate: p.text(),
    keyId: p.string().length(16),
    sealedKey: p.text()
  }
})

const time = () => p.bigint('number') // ms since 1970, UTC, by the clock of the database

// What servers of one database have for each other: plugins/control/servers. All of it is of running servers.

/** A server that runs, or ran lately. */
export const ServerRow = defineEntity({
  name: 'ServerRow',
  tableName: 'control_server',
  properties: {
    boot: p.string().length(32).primary(), // of its process
    serverId: p.string().length(64),
    version: p.string().length(64),
    startedAt: time(),
    seenAt: time(),
    knows: p.text() // closing migrations
  }
})

/** What one server does for all. */
export const TaskRow = defineEntity({
  name: 'TaskRow',
  tableName: 'control_task',
  properties: { name: p.string().length(64).primary(), boot: p.string().length(32) }
})

/** The session of a client, its last one if none is in force. */
export const SessionRow = defineEntity({
  name: 'SessionRow',
  tableName: 'control_session',
  properties: {
    clientId: p.string().length(26).primary(),
    sessionId: p.string().length(26),
    boot: p.string().length(32).nullable().index('control_session_boot_index'), // null: it has ended
    epoch: p.bigint('number'), // counts the sessions of the client
    tokenHash: p.string().length(64),
    instanceId: p.string().length(64),
    remoteAddr: p.string().length(255),
    connectedAt: time(),
    ending: p.string().length(64).nullable(),
    changed: p.bigint('number').index('control_session_changed_index')
  }
})

/** A request to an agent at another server, then its answer. */
export const RequestRow = defineEntity({
  name: 'RequestRow',
  tableName: 'control_request',
  properties: {
    id: p.string().length(26).primary(),
    asker: p.string().length(32),
    boot: p.string().length(32).nullable(), // that is to take it
    clientId: p.string().length(26),
    sessionId: p.string().length(26),
    name: p.string().length(255),
    body: p.text(), // base64
    answer: p.string().length(255).nullable(), // the name of its message
    deadline: time()
  }
})

/** What agents have told live: see Mirrored. */
export const MirrorRow = defineEntity({
  name: 'MirrorRow',
  tableName: 'control_mirror',
  properties: {
    clientId: p.string().length(26).primary(),
    key: p.string().length(64).primary(),
    boot: p.string().length(32),
    value: p.text(), // JSON
    changed: p.bigint('number').index('control_mirror_changed_index')
  }
})

/** The last result of an agent for an object. */
export const ResultRow = defineEntity({
  name: 'ResultRow',
  tableName: 'control_result',
  properties: {
    clientId: p.string().length(26).primary(),
    kind: p.string().length(32).primary(),
    id: p.string().length(64).primary(),
    revision: p.bigint('number'),
    removal: p.string().length(5).nullable(),
    status: p.string().length(8),
    code: p.string().length(64),
    message: p.text(),
    at: time()
  }
})
