import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, type Reply, type Versioned, versioned } from '../../api/call.ts'
import { useFormReset } from '../../api/use-form-reset.ts'
import { useVersionedEdit } from '../../api/use-versioned-edit.ts'
import { notify } from '../../app/notices.ts'
import { EditConflict } from '../../parts/form/EditConflict.tsx'
import { Form } from '../../parts/form/Form.tsx'
import { formErrors } from '../../parts/form/form-errors.ts'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'

type Setting = Reply<'GET /v1/settings/advertised-endpoint'>

const readSetting = () => versioned('GET /v1/settings/advertised-endpoint')

export function Endpoint() {
  const setting = useQuery({ queryKey: ['endpoint'], queryFn: readSetting })
  const { formKey, reset } = useFormReset(setting)
  return (
    <QueryResult query={setting}>
      {read => (
        <Stack>
          <InForce setting={read.value} />
          <Override key={formKey} opened={read} onSaved={reset} />
        </Stack>
      )}
    </QueryResult>
  )
}

function InForce({ setting: { endpoints, source, diagnostic } }: { readonly setting: Setting }) {
  return (
    <>
      <Text>
        {text.settings.effective}: <strong>{endpoints.join(', ') || '–'}</strong>
        {source && `, ${text.settings.sources[source]}`}
      </Text>
      {diagnostic !== null && (
        <Alert color="red" variant="default" role="alert" title={text.settings.unusable}>
          {diagnostic}
        </Alert>
      )}
      {source === 'loopback' && (
        <Alert color="orange" variant="default">
          {text.settings.loopback}
        </Alert>
      )}
    </>
  )
}

function Override({
  opened,
  onSaved
}: {
  readonly opened: Versioned<Setting>
  readonly onSaved: () => Promise<void>
}) {
  const [value, setValue] = useState(opened.value.override ?? '')
  const { change, theirs } = useVersionedEdit<Setting, string | null>(opened, {
    read: readSetting,
    save: async (endpoint, headers) => {
      await call('PUT /v1/settings/advertised-endpoint', {
        body: { advertised_endpoint: endpoint },
        headers
      })
      notify(endpoint === null ? text.settings.cleared : text.saved)
    },
    onSaved
  })
  const { errorAt, generalError } = formErrors(change.error, {
    advertised_endpoint: ['endpoint_invalid', 'endpoint_not_in_cert_san']
  })
  return (
    <Form
      submitLabel={text.save}
      isBusy={change.isPending}
      error={generalError}
      onSubmit={() => change.mutate(value.trim() || null)}
    >
      <TextInput
        label={text.settings.override}
        description={text.settings.overrideHint}
        value={value}
        onChange={event => setValue(event.currentTarget.value)}
        error={errorAt('advertised_endpoint')}
        autoCapitalize="none"
        spellCheck={false}
        maw={480}
      />
      {theirs && (
        <EditConflict
          fields={[{ name: text.settings.override, now: theirs.override ?? '–', yours: value }]}
        />
      )}
      {opened.value.override !== null && (
        <Group>
          <Button variant="default" size="xs" disabled={change.isPending} onClick={() => change.mutate(null)}>
            {text.settings.clear}
          </Button>
        </Group>
      )}
    </Form>
  )
}
