// Signs in a device that has no browser, by the code that the device shows.
import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { call, type Reply } from '../../api/call.ts'
import { Facts } from '../../parts/Facts.tsx'
import { Form } from '../../parts/form/Form.tsx'
import { FormError } from '../../parts/form/FormError.tsx'
import { useForm } from '../../parts/form/use-form.ts'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { text } from '../../text/text.ts'

type Device = Reply<'POST /v1/auth/device/review'> & { readonly code: string }

export default function DevicePage() {
  const [device, setDevice] = useState<Device | null>(null)
  const [done, setDone] = useState<string | null>(null)
  const decided = (notice: string): void => {
    setDevice(null)
    setDone(notice)
  }
  return (
    <>
      <PageHead title={text.pages.device} />
      <Stack maw={640}>
        {done !== null && <Alert role="status">{done}</Alert>}
        {device ? (
          <Decision device={device} onDecided={decided} onCancel={() => setDevice(null)} />
        ) : (
          <CodeForm
            onReviewed={found => {
              setDone(null)
              setDevice(found)
            }}
          />
        )}
      </Stack>
    </>
  )
}

/** The link of a device fills the code in. It does not send it: the user compares it first. */
function CodeForm({ onReviewed }: { readonly onReviewed: (device: Device) => void }) {
  const [params] = useSearchParams()
  const { input, form } = useForm({
    initial: { user_code: params.get('code') ?? '' },
    fields: {
      user_code: { label: text.device.code, codes: ['device_request_not_found'] }
    },
    save: async ({ user_code }) => ({
      code: user_code,
      ...(await call('POST /v1/auth/device/review', { body: { user_code } }))
    }),
    onDone: onReviewed
  })
  return (
    <Form submitLabel={text.device.review} {...form}>
      <Text>{text.device.lead}</Text>
      <TextInput
        {...input('user_code')}
        autoComplete="off"
        autoCapitalize="characters"
        required
        data-autofocus
      />
    </Form>
  )
}

interface DecisionProps {
  readonly device: Device
  readonly onDecided: (notice: string) => void
  readonly onCancel: () => void
}

function Decision({ device, onDecided, onCancel }: DecisionProps) {
  const body = { user_code: device.code }
  const approval = useMutation({
    meta: { shown: true },
    mutationFn: () => call('POST /v1/auth/device/approve', { body }),
    onSuccess: () => onDecided(text.device.approved)
  })
  const denial = useMutation({
    meta: { shown: true },
    mutationFn: () => call('POST /v1/auth/device/deny', { body }),
    onSuccess: () => onDecided(text.device.denied)
  })
  const isBusy = approval.isPending || denial.isPending
  return (
    <Stack>
      <Facts
        facts={[
          { name: text.device.label, value: device.label },
          { name: text.device.from, value: device.remote_addr },
          { name: text.device.access, value: device.scopes?.join(', ') ?? text.tokens.accesses.all },
          { name: text.device.expires, value: <Timestamp at={device.expires_at} format="ago" /> }
        ]}
      />
      <Alert color="orange">{text.device.warning}</Alert>
      <FormError error={approval.error ?? denial.error} />
      <Group>
        <Button loading={approval.isPending} disabled={isBusy} onClick={() => approval.mutate()}>
          {text.device.approve}
        </Button>
        <Button
          variant="default"
          loading={denial.isPending}
          disabled={isBusy}
          onClick={() => denial.mutate()}
        >
          {text.device.deny}
        </Button>
        <Button variant="subtle" disabled={isBusy} onClick={onCancel}>
          {text.cancel}
        </Button>
      </Group>
    </Stack>
  )
}
