import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call, type Reply, type Versioned, versioned } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { Form } from '../../parts/form/Form.tsx'
import { useEditForm } from '../../parts/form/use-edit-form.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'

type Setting = Reply<'GET /v1/settings/advertised-endpoint'>

const readSetting = () => versioned('GET /v1/settings/advertised-endpoint')

export function Endpoint() {
  const mayChange = useRight('managesUsers')
  const setting = useQuery({ queryKey: ['endpoint'], queryFn: readSetting })
  return (
    <QueryResult query={setting}>
      {read => (
        <Stack>
          <InForce setting={read.value} />
          {mayChange && <Override opened={read} />}
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

const fields = {
  advertised_endpoint: {
    label: text.settings.override,
    description: text.settings.overrideHint,
    codes: ['endpoint_invalid', 'endpoint_not_in_cert_san'],
    format: (endpoint: string) => endpoint || '–'
  }
}

function Override({ opened }: { readonly opened: Versioned<Setting> }) {
  const { input, form, conflict, send } = useEditForm(opened, {
    fields,
    toValues: ({ override }) => ({ advertised_endpoint: override ?? '' }),
    toBody: ({ advertised_endpoint }) => ({ advertised_endpoint: advertised_endpoint.trim() || null }),
    read: readSetting,
    save: (body, headers) => call('PUT /v1/settings/advertised-endpoint', { body, headers }),
    sends: 'all',
    notice: ({ advertised_endpoint }) => (advertised_endpoint === null ? text.settings.cleared : text.saved)
  })
  return (
    <Form {...form} submitLabel={text.save}>
      <TextInput {...input('advertised_endpoint')} autoCapitalize="none" spellCheck={false} maw={480} />
      {conflict}
      {opened.value.override !== null && (
        <Group>
          <Button
            variant="default"
            size="xs"
            disabled={form.isBusy}
            onClick={() => send({ advertised_endpoint: null })}
          >
            {text.settings.clear}
          </Button>
        </Group>
      )}
    </Form>
  )
}
