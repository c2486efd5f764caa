#!/bin/sh
# Puts the app at an address of your own, with AWS Amplify: examples/chat/publish.sh STACK PREFIX DOMAIN
# For example: examples/chat/publish.sh headrace-prod chat example.com. Run it again for a new version.
set -eu
[ $# = 3 ] || { sed -n 2,3p "$0" >&2; exit 2; }
stack=$1 prefix=$2 domain=$3
cd "$(dirname "$0")"

output() {
  aws cloudformation describe-stacks --stack-name "$stack" --output text \
    --query "Stacks[0].Outputs[?OutputKey=='$1'].OutputValue"
}
amplify() { command=$1; shift; aws amplify "$command" --output text "$@"; }

(cd ../../clients/typescript && npm ci && npm run build)
npm ci && npm run build
http_url=$(output HttpUrl)
ws_url=$(output WebSocketUrl)
sign_in=$(output SignInUrl)
cat >dist/config.json <<END
{
  "httpUrl": "$http_url",
  "wsUrl": "$ws_url",
  "authorizeUrl": "$sign_in/oauth2/authorize",
  "tokenUrl": "$sign_in/oauth2/token",
  "clientId": "$(output ClientId)",
  "scope": "openid headrace/chat:read headrace/chat:write"
}
END
rm -f chat.zip && (cd dist && zip -qr ../chat.zip .)

app=$(amplify list-apps --query "apps[?name=='$stack-chat'].appId")
[ -n "$app" ] || app=$(amplify create-app --name "$stack-chat" --query app.appId)
headers=$(sed "s|@HOSTS@|$http_url $ws_url $sign_in|" headers.yml)
amplify update-app --app-id "$app" --custom-headers "$headers" >/dev/null
amplify get-branch --app-id "$app" --branch-name main >/dev/null 2>&1 ||
  amplify create-branch --app-id "$app" --branch-name main >/dev/null
amplify get-domain-association --app-id "$app" --domain-name "$domain" >/dev/null 2>&1 ||
  amplify create-domain-association --app-id "$app" --domain-name "$domain" \
    --sub-domain-settings "prefix=$prefix,branchName=main" >/dev/null
deployment=$(amplify create-deployment --app-id "$app" --branch-name main --query '[jobId,zipUploadUrl]')
# shellcheck disable=SC2086 # two words
set -- $deployment
curl -sfT chat.zip -H "Content-Type: application/zip" "$2"
amplify start-deployment --app-id "$app" --branch-name main --job-id "$1" >/dev/null
amplify get-domain-association --app-id "$app" --domain-name "$domain" --query \
  'domainAssociation.[domainStatus,certificateVerificationDNSRecord,subDomains[].dnsRecord]'
echo "https://$prefix.$domain/"
