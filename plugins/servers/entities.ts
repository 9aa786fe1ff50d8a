import { defineEntity, p } from '@mikro-orm/core'

const time = () => p.bigint('number') // ms since 1970, UTC, by the clock of the database

/** A server that runs or ran recently. */
export const ServerRow = defineEntity({
  name: 'ServerRow',
  tableName: 'servers_server',
  properties: {
    boot: p.string().length(32).primary(), // identifies its process
    serverId: p.string().length(64),
    version: p.string().length(64),
    startedAt: time(),
    seenAt: time(),
    closing_migrations: p.text() // separated by spaces
  }
})

/** A task that one server does for all. */
export const TaskRow = defineEntity({
  name: 'TaskRow',
  tableName: 'servers_task',
  properties: { name: p.string().length(64).primary(), boot: p.string().length(32) }
})

/** The session of a client; the last one if none is in force. */
export const SessionRow = defineEntity({
  name: 'SessionRow',
  tableName: 'servers_session',
  properties: {
    clientId: p.string().length(26).primary(),
    sessionId: p.string().length(26),
    boot: p.string().length(32).nullable().index('servers_session_boot_index'), // null: it has ended
    epoch: p.bigint('number'), // counts the sessions of the client
    tokenHash: p.string().length(64),
    instanceId: p.string().length(64),
    remoteAddr: p.string().length(255),
    connectedAt: time(),
    ending: p.string().length(64).nullable(),
    changed: p.bigint('number').index('servers_session_changed_index')
  }
})

/** A request to an agent at a peer, then its answer. */
export const RequestRow = defineEntity({
  name: 'RequestRow',
  tableName: 'servers_request',
  properties: {
    id: p.string().length(26).primary(),
    requester: p.string().length(32),
    boot: p.string().length(32).nullable(), // the server that must take it
    clientId: p.string().length(26),
    sessionId: p.string().length(26),
    name: p.string().length(255),
    body: p.text(), // base64
    answer: p.string().length(255).nullable(), // the name of its message
    deadline: time()
  }
})

/** Live state of agents: see Mirrored. */
export const MirrorRow = defineEntity({
  name: 'MirrorRow',
  tableName: 'servers_mirror',
  properties: {
    clientId: p.string().length(26).primary(),
    key: p.string().length(64).primary(),
    boot: p.string().length(32),
    value: p.text(), // JSON
    changed: p.bigint('number').index('servers_mirror_changed_index')
  }
})

/** The result of an agent for a revision of an object, for a minute. */
export const ResultRow = defineEntity({
  name: 'ResultRow',
  tableName: 'servers_result',
  properties: {
    clientId: p.string().length(26).primary(),
    kind: p.string().length(32).primary(),
    id: p.string().length(64).primary(),
    revision: p.bigint('number').primary(),
    removal: p.string().length(5).nullable(),
    status: p.string().length(8),
    code: p.string().length(64),
    message: p.text(),
    at: time()
  }
})
