// Segments in a bucket of an S3-compatible store, by four requests: PUT with If-None-Match (the store itself refuses a second
// one), GET, HEAD, DELETE and a list. Signed as AWS Signature Version 4 asks for
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html); nothing else of its protocol is
// used, so that no client library is.
import { createHash, createHmac } from 'node:crypto'
import { RecollectError } from '../errors.ts'
import type { BlobStore } from './blobs.ts'

export interface S3Place {
  endpoint: string
  region: string
  bucket: string
  prefix: string
  keyId: string
  secret: string
}

const TIMEOUT_MS = 30_000

export function s3Blobs(setting: string, env: Record<string, string | undefined>): BlobStore {
  const place = placeOf(setting, env)
  const ask = (
    method: string,
    name: string,
    body?: Buffer,
    headers: Record<string, string> = {},
  ): Promise<Response> => request(place, method, `${place.prefix}${name}`, '', body, headers)
  return {
    async put(name, bytes) {
      const response = await ask('PUT', name, bytes, { 'if-none-match': '*' })
      if (response.status === 412) return false
      if (!response.ok) throw refused(place, response)
      return true
    },
    async get(name) {
      const response = await ask('GET', name)
      if (response.status === 404) return undefined
      if (!response.ok) throw refused(place, response)
      return Buffer.from(await response.arrayBuffer())
    },
    async has(name) {
      const response = await ask('HEAD', name)
      if (response.status !== 404 && !response.ok) throw refused(place, response)
      return response.ok
    },
    async remove(name) {
      const response = await ask('DELETE', name)
      if (!response.ok && response.status !== 404) throw refused(place, response)
    },
    list: () => listed(place),
  }
}

function placeOf(setting: string, env: Record<string, string | undefined>): S3Place {
  const [, bucket = '', prefix = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w./-]*))?$/.exec(setting) ?? []
  const { AWS_ACCESS_KEY_ID: keyId, AWS_SECRET_ACCESS_KEY: secret, AWS_REGION: region = 'us-east-1' } = env
  if (bucket === '' || !keyId || !secret)
    throw new RecollectError('BAD_CONFIG', 'the bucket cannot be used', {
      where: 'serve.blobs',
      hint: 's3://bucket/prefix, with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment; AWS_ENDPOINT_URL_S3 for another store than AWS',
    })
  const endpoint = env['AWS_ENDPOINT_URL_S3'] ?? `https://s3.${region}.amazonaws.com`
  return {
    endpoint,
    region,
    bucket,
    keyId,
    secret,
    prefix: prefix === '' ? '' : `${prefix.slice(0, lengthWithoutSlashes(prefix))}/`,
  }
}

function lengthWithoutSlashes(text: string): number {
  let length = text.length
  while (text[length - 1] === '/') length--
  return length
}

const hash = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')
const sign = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** The headers that sign a request; `query` is sorted and encoded as it is sent. */
export function signed(
  { region, keyId, secret }: Pick<S3Place, 'region' | 'keyId' | 'secret'>,
  {
    method,
    url,
    headers,
    body,
  }: { method: string; url: URL; headers: Record<string, string>; body: Buffer | undefined },
  now: Date,
): Record<string, string> {
  const time = now.toISOString().replace(/[-:]|\.\d+/g, '')
  const day = time.slice(0, 8)
  const bodyHash = hash(body ?? '')
  const all: Record<string, string> = {
    ...headers,
    host: url.host,
    'x-amz-content-sha256': bodyHash,
    'x-amz-date': time,
  }
  const names = Object.keys(all).sort()
  const canonical = [
    method,
    url.pathname,
    url.search.slice(1),
    ...names.map((name) => `${name}:${(all[name] as string).trim()}`),
    '',
    names.join(';'),
    bodyHash,
  ].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const key = [region, 's3', 'aws4_request'].reduce<Buffer>(
    (made, part) => sign(made, part),
    sign(`AWS4${secret}`, day),
  )
  const signature = sign(key, ['AWS4-HMAC-SHA256', time, scope, hash(canonical)].join('\n')).toString('hex')
  const { host: _, ...sent } = all
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 Credential=${keyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  }
}

async function request(
  place: S3Place,
  method: string,
  name: string,
  query: string,
  body?: Buffer,
  headers: Record<string, string> = {},
): Promise<Response> {
  const url = new URL(`${place.endpoint}/${place.bucket}/${name}${query}`)
  try {
    return await fetch(url, {
      method,
      headers: signed(place, { method, url, headers, body }, new Date()),
      ...(body ? { body: new Uint8Array(body) } : {}),
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
  } catch (error) {
    throw new RecollectError('UNREACHABLE', 'the object store does not answer', {
      where: place.endpoint,
      cause: (error as { cause?: unknown }).cause ?? error,
      hint: 'check AWS_ENDPOINT_URL_S3 and whether the store is running',
    })
  }
}

const refused = ({ endpoint, bucket }: S3Place, { status }: Response): RecollectError =>
  new RecollectError('REFUSED', `the object store answered ${status}`, {
    where: `${endpoint}/${bucket}`,
    hint: status === 403 ? 'check the key and what it may do in this bucket' : 'see the log of the store',
  })

async function* listed(place: S3Place): AsyncGenerator<{ name: string; putAt: number }> {
  for (let token = ''; ; ) {
    const pairs = {
      ...(token === '' ? {} : { 'continuation-token': token }),
      'list-type': '2',
      prefix: place.prefix,
    }
    const query = Object.entries(pairs).map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
    const response = await request(place, 'GET', '', `?${query.join('&')}`)
    if (!response.ok) throw refused(place, response)
    const text = await response.text()
    for (const item of text.split('<Contents>').slice(1)) {
      const putAt = Date.parse(textIn(item, 'LastModified'))
      yield { name: textIn(item, 'Key').slice(place.prefix.length), putAt }
    }
    token = textIn(text, 'NextContinuationToken')
    if (token === '') return
  }
}

/** What stands in the first element of this name; '' where there is none. */
function textIn(xml: string, name: string): string {
  const start = xml.indexOf(`<${name}>`)
  const from = start + name.length + 2
  const to = start === -1 ? -1 : xml.indexOf(`</${name}>`, from)
  return to === -1 ? '' : xml.slice(from, to)
}
