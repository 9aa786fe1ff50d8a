import { Button, Group, NativeSelect, NumberInput, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { notify } from '../../app/notices.ts'
import { fieldError } from '../../parts/field-error.ts'
import { Refusal } from '../../parts/Refusal.tsx'
import { text } from '../../text/text.ts'
import type { Edge } from '../edges/queries.ts'

interface Props {
  readonly edges: readonly Edge[]
  readonly onDone?: () => void
}

/** The plain rule: a port of one edge, one target. The server says what is wrong, at its field. */
export function NewRule({ edges, onDone }: Props) {
  const usable = edges.filter(({ state }) => state !== 'revoked')
  const [client, setClient] = useState(
    usable.find(({ connected }) => connected)?.client_id ?? usable[0]?.client_id ?? ''
  )
  const [protocol, setProtocol] = useState('tcp')
  const [listenPort, setListenPort] = useState<number | string>('')
  const [host, setHost] = useState('')
  const [port, setPort] = useState<number | string>('')
  const create = useMutation({
    meta: { shown: true },
    mutationFn: () =>
      call('POST /v1/rules', {
        body: {
          client,
          protocol,
          listen_port: Number(listenPort),
          targets: [{ host: host.trim(), port: Number(port) }]
        }
      }),
    onSuccess: ({ client_name, listen_port }) => {
      notify(text.rules.made(`${client_name}:${listen_port}`))
      onDone?.()
    }
  })
  if (usable.length === 0) return <Text>{text.rules.noEdges}</Text>
  const numbers = {
    min: 1,
    max: 65_535,
    allowDecimal: false,
    hideControls: true,
    required: true,
    inputMode: 'numeric'
  } as const
  const errorOf = (name: string): string | null => fieldError(create.error, name)
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        create.mutate()
      }}
    >
      <Stack>
        <NativeSelect
          label={text.rules.edge}
          data={usable.map(({ client_id: value, client_name: label }) => ({ value, label }))}
          value={client}
          onChange={event => setClient(event.currentTarget.value)}
          error={errorOf('client')}
        />
        <Group grow align="start">
          <NumberInput
            label={text.rules.port}
            value={listenPort}
            onChange={setListenPort}
            error={errorOf('listen_port')}
            data-autofocus
            {...numbers}
          />
          <NativeSelect
            label={text.rules.protocol}
            data={['tcp', 'udp']}
            value={protocol}
            onChange={event => setProtocol(event.currentTarget.value)}
            error={errorOf('protocol')}
          />
        </Group>
        <Group grow align="start">
          <TextInput
            label={text.rules.host}
            description={text.rules.hostHint}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            value={host}
            onChange={event => setHost(event.currentTarget.value)}
            error={errorOf('targets[0].host')}
            autoCapitalize="none"
            required
          />
          <NumberInput
            label={text.rules.targetPort}
            value={port}
            onChange={setPort}
            error={errorOf('targets[0].port')}
            {...numbers}
          />
        </Group>
        <Refusal
          error={create.error}
          fields={['client', 'listen_port', 'protocol', 'targets[0].host', 'targets[0].port']}
        />
        <Button type="submit" loading={create.isPending} style={{ alignSelf: 'start' }}>
          {text.rules.submit}
        </Button>
      </Stack>
    </form>
  )
}
